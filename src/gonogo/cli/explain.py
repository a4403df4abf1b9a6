"""``gonogo explain G2``: the whole story of a gotcha."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from gonogo import catalogue
from gonogo.cli import UsageError
from gonogo.platforms.wheels import EXAMPLES
from gonogo.printable import printable

HELP = "the whole story of one failure mode: symptom, cause, check, fix, what was claimed and what was measured"
_PARTS = (
    ("symptom", "Symptom"),
    ("cause", "Cause"),
    ("check", "Check"),
    ("fix", "Fix"),
    ("claim", "First claim"),
    ("evidence", "Evidence since"),
    ("not_a_fault", "Not a fault"),
)

#: An example is shown up to here.
LINE_CHARACTERS = 140

#: Codes that every gotcha can give.
_EVERYWHERE = {
    "ok": "judged, and nothing is wrong",
    "skipped": "does not apply here, was not asked for, or what it judges is absent",
    "unknown": "what it judges is there, or must be, and did not answer",
}


#: Placeholders without text: they only say where a step applies.
_SWITCHES = ("spark", "card", "container", "mismatch", "not_loaded", "hang", "log")


class _Examples(dict[str, str]):
    """What a finding would fill in: an example of it, or its name."""

    def __missing__(self, name: str) -> str:
        return "" if name in _SWITCHES else name.upper()


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``explain``."""
    parser.add_argument("gotchas", nargs="+", metavar="G2", help="a number, or a finding code such as G1.older-major")
    parser.add_argument("--output", metavar="FILE", help="write there instead of to standard output")


def run(options: argparse.Namespace) -> int:
    """Always 0. Raises UsageError for a number or code that does not exist."""
    from gonogo.cli import _output

    _output.write("\n".join(_explain(word) for word in options.gotchas), options.output)
    return 0


def _explain(word: str) -> str:
    head, _, name = word.partition(".")
    gotcha, name = (f"G{int(head)}" if re.fullmatch("[0-9]{1,2}", head) else head.upper()), name.lower()
    entry = catalogue.gotchas().get(gotcha)
    if entry is None or (name and name not in entry.get("code", {}) and name not in _EVERYWHERE):
        raise UsageError(f"unknown gotcha {word!r}: gonogo list shows them all")
    if name in _EVERYWHERE and name not in entry.get("code", {}):
        return f"{gotcha}  {entry['title']}\n\n  {gotcha}.{name}: {_EVERYWHERE[name]}\n"
    if name:
        return f"{gotcha}  {entry['title']}\n\n" + "\n".join(_code(gotcha, name, entry["code"][name])) + "\n"
    lines = [f"{gotcha}  {entry['title']}", ""]
    for key, label in _PARTS:
        if entry.get(key):
            lines += [label, *_paragraph(entry[key]), ""]
    if entry.get("code"):
        lines += ["Findings", *(line for key, code in entry["code"].items() for line in _code(gotcha, key, code)), ""]
    rows = catalogue.signatures().get(gotcha, ())
    if rows:
        lines += [f"In logs (gonogo diagnose): {len(rows)} signatures", *_signatures(rows), ""]
    lines += [f"Sources, verified {entry['verified']}", *(f"  - {source}" for source in entry.get("sources", ()))]
    return "\n".join(lines) + "\n"


def _signatures(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each code how it shows: an example of each signature, as printed, and what it must not be confused with."""
    lines: list[str] = []
    for code in dict.fromkeys(row["code"] for row in rows):
        own = [row for row in rows if row["code"] == code]
        kinds = {"cause": "", "echo": " (an echo: the cause stands elsewhere)", "note": " (harmless)"}
        lines.append(f"  {code}{kinds[own[0].get('kind', 'cause')]}")
        lines += [f"      {_line_of(row)}" for row in own]
    return lines


def _line_of(row: Mapping[str, Any]) -> str:
    """The line of the signature's first example that the pattern is for."""
    lines: list[str] = [line.strip() for line in row["positive"][0].splitlines() if line.strip()]
    line = next((line for line in lines if re.search(row["pattern"], line)), lines[0])
    return printable(line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 3] + "...")


def _paragraph(text: str, indent: str = "  ") -> list[str]:
    return textwrap.wrap(
        text, 100, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _code(gotcha: str, name: str, code: Mapping[str, Any]) -> list[str]:
    lines = [f"  {gotcha}.{name}: {code['title']}"]
    for step in code.get("fix", ()):
        text, undo = (part.format_map(_Examples(EXAMPLES)) for part in (step["step"], step.get("undo", "")))
        lines += _paragraph(f"fix: {text} [{step['impact']}{f'; undo: {undo}' if undo else ''}]", "      ")
    return lines
