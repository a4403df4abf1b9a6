"""``markdown``: for pasting into an issue; names, homes, addresses and tokens are masked."""

from __future__ import annotations

import re

from gonogo.diagnosis import Diagnosis
from gonogo.node.facts.redaction import Redactor, redactor_for_this_machine
from gonogo.printable import printable
from gonogo.report import Style
from gonogo.report.diagnosis import Read

MOST_CHARACTERS = 400
_MARKUP = re.compile(r"[\\`*_<>#|\[\]~$&]")
#: What begins a list or underlines a heading, where it stands first.
_LIST = re.compile(r"^([0-9]*)([-+=.)])")
#: GitHub looks for these in the text as it is shown.
_REFERENCE = re.compile(r"@|#(?=[0-9])")


def render(read: Read, style: Style) -> str:
    """A heading for each diagnosis, its lines as a block, its steps as a list."""
    redactor = redactor_for_this_machine()
    lines: list[str] = []
    for item in read.outcome.diagnoses:
        lines += _diagnosis(item, redactor, style)
    if not read.outcome.diagnoses:
        lines += ["Nothing known was found.", ""]
    if read.outcome.notes:
        lines += ["Harmless, or a consequence:", ""]
        lines += [
            f"- {_code(redactor.text(note.text))}: {_plain(redactor.text(note.says))}" for note in read.outcome.notes
        ]
        lines.append("")
    lines.append(f"Read: {read.lines_read} lines, {read.bytes_read} bytes, {len(read.files)} inputs.")
    return "\n".join(lines) + "\n"


def _diagnosis(item: Diagnosis, redactor: Redactor, style: Style) -> list[str]:
    lines = [f"### {item.gotcha}: {_plain(item.title)} ({item.code}, confidence {item.confidence})", ""]
    if item.if_device:
        lines += [f"If this is a machine with {item.if_device} memory: the log does not name its device.", ""]
    if item.text:
        lines += [_plain(redactor.text(item.text)), ""]
    lines += [
        "```text",
        *(_block(redactor.text(row.text), f"{redactor.text(row.file)}:{row.line}") for row in item.evidence),
        "```",
        "",
    ]
    for number, step in enumerate(item.fix, 1):
        undo = f", undo: {step.undo}" if step.undo else ""
        lines.append(
            f"{number}. {_plain(redactor.text(step.step))} (impact: {step.impact}{_plain(redactor.text(undo))})"
        )
    lines += [""] if item.fix else []
    return [*lines, f"To confirm: {_plain(item.confirm)}", ""] if item.confirm else lines


def _block(text: str, place: str) -> str:
    return f"{printable(place)}: {printable(text)[:MOST_CHARACTERS]}".replace("```", "'''")


def _code(text: str) -> str:
    return "`" + printable(text)[:MOST_CHARACTERS].replace("`", "'") + "`"


def _plain(text: str) -> str:
    """Text in which nothing is markup, a mention or a reference to an issue."""
    text = _MARKUP.sub(r"\\\g<0>", printable(text).strip())
    text = _LIST.sub(r"\1\\\2", text)
    return _REFERENCE.sub("\\g<0>\u200b", text)
