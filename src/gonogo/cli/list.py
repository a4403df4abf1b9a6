"""``gonogo list``: the catalogue, one line a gotcha."""

from __future__ import annotations

import argparse

from gonogo import catalogue

HELP = "the failure modes that gonogo knows, one line each"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``list``."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text or json (default: text)")
    parser.add_argument("--codes", action="store_true", help="each finding code as well")
    parser.add_argument("--output", metavar="FILE", help="write there instead of to standard output")


def run(options: argparse.Namespace) -> int:
    """Always 0. Raises UsageError when the output cannot be written."""
    from gonogo.cli import _output

    _output.write(_json() if options.format == "json" else _text(options.codes), options.output)
    return 0


def _text(with_codes: bool) -> str:
    lines = []
    for gotcha, entry in catalogue.gotchas().items():
        lines.append(f"{gotcha:<4} {entry['title']}")
        if with_codes:
            lines += [f"       {gotcha}.{name:<26} {code['title']}" for name, code in entry.get("code", {}).items()]
    return "\n".join(lines) + "\n"


def _json() -> str:
    import json

    rows = [
        {
            "gotcha": gotcha,
            "title": entry["title"],
            "judged": "check" in entry["parts"],
            "codes": [f"{gotcha}.{name}" for name in entry.get("code", {})],
            "verified": entry["verified"],
        }
        for gotcha, entry in catalogue.gotchas().items()
    ]
    return json.dumps(rows, indent=2) + "\n"
