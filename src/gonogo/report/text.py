"""``text``: for people. The judged environment first, then a compact table, worst first, the fix under it."""

from __future__ import annotations

import textwrap

from gonogo import catalogue
from gonogo.finding import FAIL, INFO, PASS, SKIP, UNKNOWN, WARN, Finding, rank, worst_first
from gonogo.preflight import Preflight
from gonogo.printable import printable
from gonogo.report import Style, judged_environment

_COLORS = {FAIL: "1;31", WARN: "1;33", UNKNOWN: "35", INFO: "36", SKIP: "2", PASS: "32"}
_VERDICT_COLORS = {"go": "1;32", "go-with-warnings": "1;33", "no-go": "1;31"}
_INDENT = " " * 13
_IMPACT = {
    "none": "changes nothing",
    "transient": "for the time being",
    "reversible": "can be undone",
    "persistent": "stays",
    "irreversible": "cannot be undone",
}


def render(preflight: Preflight, style: Style) -> str:
    """``verbose`` adds evidence, confidence, what was skipped beyond G10, each collector's time, and config files."""
    lines = [judged_environment(preflight), _platform(preflight), ""]
    skipped: dict[str, list[str]] = {}
    for item in preflight.findings:
        if item.status == SKIP:
            skipped.setdefault(item.message, []).append(item.gotcha)
    for item in worst_first(preflight.findings):
        if item.status != SKIP or style.verbose:
            lines += _finding(item, style)
        elif item.message in skipped:  # those that share a reason share a line
            gotchas = skipped.pop(item.message)
            lines += _row(SKIP, gotchas[0] if len(gotchas) == 1 else "", _grouped(item.message, gotchas), style)
    lines += ["", *_verdict(preflight, style)]
    if style.verbose:
        lines += ["", *_collectors(preflight)]
        lines += [printable(f"config: {path}") for path in preflight.request.config]
    return "\n".join(lines) + "\n"


def _platform(preflight: Preflight) -> str:
    platform = preflight.platform
    how = f" ({'; '.join(platform.evidence)})" if platform.evidence else ""
    unsure = "" if platform.identity_known else ", identity unknown: nothing that was read names the machine"
    return printable(f"platform: {platform.profile.title}{how}{unsure}")


def _grouped(message: str, gotchas: list[str]) -> str:
    return message if len(gotchas) == 1 else f"{' '.join(gotchas)}: {message}"


def _finding(item: Finding, style: Style) -> list[str]:
    lines = _row(item.status, item.gotcha, item.message, style)
    if rank(item.status) >= rank(UNKNOWN):
        for step in item.fix:
            # Commands are to be copied: one line each, however long.
            lines.append(f"{_INDENT}fix: {printable(step.step)}")
            undo = f", undo: {printable(step.undo)}" if step.undo else ""
            lines.append(f"{_INDENT}     ({_IMPACT[step.impact]}{undo})")
    if style.verbose:
        for line in item.evidence:
            lines += _wrapped(f"evidence: {line}", style, "          ")
        if item.accepted:
            lines += _wrapped(f"accepted by {item.accepted.source}", style, "          ")
        title = catalogue.gotchas()[item.gotcha]["title"]
        lines += _wrapped(f"{item.code}, confidence {item.confidence} ({title})", style, "")
    return lines


def _row(status: str, gotcha: str, message: str, style: Style) -> list[str]:
    first, *rest = textwrap.wrap(printable(message), max(40, style.width - len(_INDENT)), break_on_hyphens=False) or [
        ""
    ]
    return [f"{_paint(f'{status:<7}', _COLORS[status], style)} {gotcha:<4} {first}", *(_INDENT + line for line in rest)]


def _wrapped(text: str, style: Style, hanging: str) -> list[str]:
    return textwrap.wrap(
        printable(text),
        max(40, style.width),
        initial_indent=_INDENT,
        subsequent_indent=_INDENT + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _verdict(preflight: Preflight, style: Style) -> list[str]:
    head = f"verdict: {_paint(preflight.verdict, _VERDICT_COLORS[preflight.verdict], style)}"
    body = [f"  - {printable(reason)}" for reason in preflight.reasons]
    hint = (
        []
        if not preflight.reasons
        else ["gonogo explain G1 (or any other number) tells the whole story of one; -v shows the evidence"]
    )
    return [head, *body, *hint]


def _collectors(preflight: Preflight) -> list[str]:
    rows = [
        printable(f"  {run.name:<12} {run.seconds * 1000:8.1f} ms  {run.outcome}") for run in preflight.facts.collectors
    ]
    return ["collectors:", *rows, f"  {'in all':<12} {preflight.duration_seconds * 1000:8.1f} ms"]


def _paint(text: str, color: str, style: Style) -> str:
    return f"\x1b[{color}m{text}\x1b[0m" if style.color else text
