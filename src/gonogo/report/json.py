"""``json``: everything, as the schema ``check`` says."""

from __future__ import annotations

import json
from typing import Any

import gonogo
from gonogo import catalogue
from gonogo.finding import SKIP, UNKNOWN, Finding
from gonogo.node.facts.codec import encode_value
from gonogo.node.facts.missing import Missing, known
from gonogo.preflight import Preflight
from gonogo.report import Style

SCHEMA_VERSION = 1


def render(preflight: Preflight, style: Style) -> str:
    """One object; ``verbose`` adds how each collector went, and the configuration files that were read."""
    platform = preflight.platform
    body: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "gonogo", "version": gonogo.__version__},
        "platform": {
            "id": platform.id,
            "title": platform.profile.title,
            "evidence": list(platform.evidence),
            "assumed": platform.assumed,
            "identity": "known" if platform.identity_known else "unknown",
        },
        "environment": environment(preflight),
        "verdict": preflight.verdict,
        "reasons": list(preflight.reasons),
        "findings": [finding_data(item) for item in preflight.findings],
        "coverage": _coverage(preflight),
        "duration_seconds": round(preflight.duration_seconds, 4),
    }
    if style.verbose:
        body["collectors"] = [encode_value(run) for run in preflight.facts.collectors]
        if preflight.request.config:
            body["config"] = list(preflight.request.config)
    return json.dumps(body, indent=2) + "\n"


def finding_data(item: Finding) -> dict[str, Any]:
    """A finding as the schema ``finding`` says; optional members only where they are set."""
    data: dict[str, Any] = {
        "gotcha": item.gotcha,
        "code": item.code,
        "status": item.status,
        "message": item.message,
        "evidence": list(item.evidence),
        "fix": [{"step": step.step, "impact": step.impact, "undo": step.undo} for step in item.fix],
        "confidence": item.confidence,
    }
    optional = {"file": item.file, "line": item.line, "column": item.column, "key": item.key, "value": item.value}
    data |= {name: value for name, value in optional.items() if value is not None}
    return data | ({"accepted": item.accepted._asdict()} if item.accepted else {})


def environment(preflight: Preflight) -> dict[str, Any]:
    """The judged environment; a member that is not known is null."""
    python = preflight.facts.sections.get("python")
    if python is None or isinstance(python, Missing):
        return {"python": None, "origin": None, "version": None, "torch": None, "torch_cuda": None}
    torch = known(python.torch)
    return {
        "python": python.executable,
        "origin": python.origin,
        "version": known(python.version),
        "torch": known(torch.version) if torch else None,
        "torch_cuda": known(torch.cuda) if torch else None,
    }


def _coverage(preflight: Preflight) -> dict[str, list[str]]:
    """Every gotcha once: judged, not applicable or not asked for, or not answered, accepted or not."""
    by_gotcha = {
        gotcha: [item.accepted.status if item.accepted else item.status for item in preflight.of(gotcha)]
        for gotcha in catalogue.gotchas()
    }
    skipped = [gotcha for gotcha, statuses in by_gotcha.items() if set(statuses) <= {SKIP}]
    unknown = [gotcha for gotcha, statuses in by_gotcha.items() if UNKNOWN in statuses]
    ran = [gotcha for gotcha in by_gotcha if gotcha not in skipped and gotcha not in unknown]
    return {"ran": ran, "skipped": skipped, "unknown": unknown}
