"""``json``: as the schema ``diagnose`` says."""

from __future__ import annotations

import json

from gonogo.diagnosis import Diagnosis
from gonogo.report import Style
from gonogo.report.diagnosis import Read

SCHEMA_VERSION = 1


def render(read: Read, style: Style) -> str:
    """One object, most likely diagnosis first."""
    body = {
        "schema_version": SCHEMA_VERSION,
        "diagnoses": [_diagnosis(item) for item in read.outcome.diagnoses],
        "notes": [
            {"code": note.code, "file": note.file, "line": note.line, "text": note.text, "says": note.says}
            for note in read.outcome.notes
        ],
        "device": read.outcome.device.memory or None,
        "files": list(read.files),
        "problems": list(read.problems),
        "interrupted": read.interrupted,
        "bytes_read": read.bytes_read,
        "lines_read": read.lines_read,
    }
    return json.dumps(body, indent=2) + "\n"


def _diagnosis(item: Diagnosis) -> dict[str, object]:
    return {
        "gotcha": item.gotcha,
        "code": item.code,
        "title": item.title,
        "confidence": item.confidence,
        "text": item.text,
        "if_device": item.if_device or None,
        "confirm": item.confirm,
        "evidence": [{"file": row.file, "line": row.line, "text": row.text} for row in item.evidence],
        "fix": [{"step": step.step, "impact": step.impact, "undo": step.undo} for step in item.fix],
    }
