"""``text``: for people: the cause, the lines that prove it, what to do first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from gonogo.diagnosis import Diagnosis
from gonogo.finding import FixStep
from gonogo.printable import printable
from gonogo.report import Style
from gonogo.report.diagnosis import Read

MOST_NOTES = 8
#: In fewer columns than the indentation textwrap never ends.
NARROWEST = 40
_EFFECT = {
    "none": "changes nothing",
    "transient": "until a restart",
    "reversible": "can be undone",
    "persistent": "stays",
    "irreversible": "cannot be undone",
}


def render(read: Read, style: Style) -> str:
    """Most likely first. What was read stands last, so that "nothing found" can be weighed."""
    lines: list[str] = []
    for place, item in enumerate(read.outcome.diagnoses):
        lines += [*([""] if place else []), *_diagnosis(item, place, style)]
    notes = read.outcome.notes
    if notes:
        lines += ["", "harmless, or a consequence:"] if lines else ["harmless:"]
        for note in notes if style.verbose else notes[:MOST_NOTES]:
            lines += [f"  {_place(note.file, note.line)}: {printable(note.text)[:160]}", f"    {printable(note.says)}"]
        if len(notes) > MOST_NOTES and not style.verbose:
            lines.append(f"  ... and {len(notes) - MOST_NOTES} more (-v)")
    lines += ["", *_read(read)] if lines else _read(read)
    return "\n".join(lines) + "\n"


def _diagnosis(item: Diagnosis, place: int, style: Style) -> Iterator[str]:
    yield f"{'likely' if place == 0 else 'also'}: {item.gotcha}  {item.title}  (confidence {item.confidence})"
    if item.if_device:
        yield f"  if this is a machine with {item.if_device} memory: the log does not name its device"
    if item.text:
        yield from textwrap.wrap(
            printable(item.text), max(style.width, NARROWEST), initial_indent="  ", subsequent_indent="  "
        )
    for row in item.evidence if style.verbose else item.evidence[:4]:
        yield f"  {_place(row.file, row.line)}: {printable(row.text)[:400]}"
    for number, step in enumerate(item.fix):
        yield from _step("first: " if number == 0 else "then:  ", step, style)
    if item.confirm:
        yield from textwrap.wrap(
            f"to confirm: {item.confirm}",
            max(style.width, NARROWEST),
            initial_indent="  ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    yield f"  more: gonogo explain {item.gotcha}"


def _step(label: str, step: FixStep, style: Style) -> Iterator[str]:
    yield f"  {label}{printable(step.step)}"
    undo = f", undo: {step.undo}" if step.undo else ""
    yield f"         ({_EFFECT.get(step.impact, step.impact)}{printable(undo)})"


def _place(file: str, line: int) -> str:
    return f"{printable(file)}:{line}"


def _read(read: Read) -> list[str]:
    many = len(read.files) != 1
    what = f"{len(read.files)} files" if many else printable(read.files[0])
    size = f"{read.lines_read} lines, {read.bytes_read} bytes of {what}"
    if read.outcome.diagnoses:
        return [f"read {size}"]
    return [f"nothing known was found in {size}; a log of the first rank that failed, from its start, tells most"]
