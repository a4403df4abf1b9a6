"""``gonogo diagnose``: name the failure in a log."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from gonogo import diagnosis
from gonogo.cli import UsageError, _streams
from gonogo.logs import opening
from gonogo.report import diagnosis as formats

HELP = "name the failure in a log, and what to do first"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``diagnose``."""
    parser.add_argument("paths", nargs="+", metavar="FILE", help="logs, run folders; - reads standard input")
    parser.add_argument("--format", default="text", metavar="F", help=f"{', '.join(formats.names())} (default: text)")
    parser.add_argument("--output", metavar="FILE", help="write the result there instead of to standard output")
    parser.add_argument("-v", "--verbose", action="store_true", help="all evidence and all notes")


def run(options: argparse.Namespace) -> int:
    """0 when nothing was found, 1 when something was. Raises UsageError."""
    render = formats.renderer(options.format)
    if render is None:
        raise UsageError(f"unknown format {options.format!r}: one of {', '.join(formats.names())}")
    from gonogo.cli import _output
    from gonogo.cli.check import _style

    reader = diagnosis.Reader()
    files, problems = [], []
    for name, open_ in _inputs(options.paths):
        try:
            with open_() as stream:
                reader.read(name, opening.blocks(stream))
        except (OSError, opening.Unreadable) as error:
            problems.append(f"cannot read {name}: {getattr(error, 'strerror', None) or error}")
            continue
        files.append(name)
    for problem in problems:
        _streams.write_error(f"gonogo diagnose: {problem}")
    if not files:
        raise UsageError(problems[0] if len(problems) == 1 else "nothing could be read")
    outcome = reader.outcome()
    read = formats.Read(outcome, tuple(files), reader.bytes_read, reader.lines_read, tuple(problems))
    _output.write(render(read, _style(options)), options.output)
    return int(bool(outcome.diagnoses))


def _inputs(paths: list[str]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Each input with how to open it, folders opened up."""
    for path in paths:
        if path == "-":
            yield "<stdin>", _streams.standard_input
            continue
        try:
            found = opening.files_of(Path(path))
        except (OSError, ValueError, opening.Unreadable) as error:
            raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        for file in found:
            yield str(file), partial(opening.open_file, file)
