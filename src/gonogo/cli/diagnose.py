"""``gonogo diagnose``: name the failure in a log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from gonogo import diagnosis
from gonogo.cli import INTERRUPTED, UsageError, _progress, _streams
from gonogo.diagnosis import parallel
from gonogo.logs import opening
from gonogo.logs.device import Device
from gonogo.report import diagnosis as formats

HELP = "name the failure in a log, and what to do first"
STDIN = "<stdin>"
#: Without the native engine this much takes long enough to say why.
LARGE_BYTES = 64 << 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``diagnose``."""
    parser.add_argument("paths", nargs="*", metavar="FILE", help="logs, run folders; - reads standard input")
    parser.add_argument("--last-boot", action="store_true", help="read how the previous boot of this machine ended")
    parser.add_argument("--here", action="store_true", help="the logs are of this machine: take its device for theirs")
    parser.add_argument("--facts", metavar="FILE", help="the logs are of the machine of this record (gonogo record)")
    parser.add_argument("--format", default="text", metavar="F", help=f"{', '.join(formats.names())} (default: text)")
    parser.add_argument("--output", metavar="FILE", help="write the result there instead of to standard output")
    parser.add_argument("-v", "--verbose", action="store_true", help="all evidence and all notes")


def run(options: argparse.Namespace) -> int:
    """0 when nothing was found, 1 when something was, 130 when interrupted. Raises UsageError."""
    render = formats.renderer(options.format)
    if render is None:
        raise UsageError(f"unknown format {options.format!r}: one of {', '.join(formats.names())}")
    if bool(options.paths) == options.last_boot:
        raise UsageError("name a log, - for standard input, or --last-boot")
    if "" in options.paths:
        raise UsageError("an empty name is no log: is the variable set?")
    _refuse_own_input(options)
    if options.here and options.facts is not None:
        raise UsageError("--here takes this machine, --facts a record: give one of them")
    from gonogo.cli import _output
    from gonogo.cli.check import _style

    device = _device(options)
    reader = diagnosis.Reader()
    files, problems, interrupted = _read(options, reader)
    if not files and not interrupted and len(problems) == 1:
        raise UsageError(problems[0])
    for problem in problems:
        _streams.write_error(f"gonogo diagnose: {problem}")
    if not files and not interrupted:
        raise UsageError("nothing could be read")
    if not reader.native and reader.bytes_read > LARGE_BYTES:
        _streams.write_error("gonogo diagnose: slow without the package ahocorasick-rs: pip install ahocorasick-rs")
    told = reader.told_device()
    if device is not None and told.memory and told.memory != device.memory:
        problems.append(
            f"the log is of a machine with {told.memory} memory, the given one has {device.memory}: that counts"
        )
        _streams.write_error(f"gonogo diagnose: {problems[-1]}")
    outcome = reader.outcome(device)
    read = formats.Read(outcome, tuple(files), reader.bytes_read, reader.lines_read, tuple(problems), interrupted)
    _output.write(render(read, _style(options)), options.output)
    return INTERRUPTED if interrupted else int(bool(outcome.diagnoses))


def _refuse_own_input(options: argparse.Namespace) -> None:
    """Raises UsageError where the result would overwrite a log that is to be read."""
    if options.output in (None, "", "-"):
        return
    for path in options.paths:
        try:
            same = Path(path).samefile(options.output)
        except (OSError, ValueError):
            continue
        if same:
            raise UsageError(f"--output {options.output} is one of the logs")


def _device(options: argparse.Namespace) -> Device | None:
    """The device of the context that the user gave; None where the log has to tell."""
    from gonogo.cli import _context

    if options.facts is not None:
        return _context.of_record(options.facts)
    return _context.of_this_machine() if options.here or options.last_boot else None


def _read(options: argparse.Namespace, reader: diagnosis.Reader) -> tuple[list[str], list[str], bool]:
    """Read every input; the names of those read, what could not be, and whether the user broke it off."""
    files: list[str] = []
    problems: list[str] = []
    current = ""
    try:
        for name, open_ in _inputs(options, problems):
            current, before = name, reader.bytes_read
            try:
                _read_one(name, open_, reader)
            except (OSError, opening.Unreadable) as error:
                part = reader.bytes_read > before  # what was handed out before it broke is worth as much as ever
                end = " to its end" if part else ""
                problems.append(f"cannot read {name}{end}: {getattr(error, 'strerror', None) or error}")
                if not part:
                    continue
            files.append(name)
    except KeyboardInterrupt:
        _streams.write_error("gonogo diagnose: interrupted; this is of what was read so far")
        return [*files, current] if current else files, problems, True
    return files, problems, False


def _read_one(name: str, open_: Callable[[], IO[bytes]], reader: diagnosis.Reader) -> None:
    """One input, a large plain file by several processes. Raises OSError, Unreadable."""
    if isinstance(open_, partial) and open_.func is opening.open_file:
        path = open_.args[0]
        parts = parallel.parts_of(path)
        if len(parts) > 1 and opening.is_plain(path):
            reader.read_in_parts(name, path, parts)
            return
    with open_() as stream:
        reader.read(name, _progress.shown(opening.blocks(stream), name))


def _refused(error: Exception) -> IO[bytes]:
    raise error


def _inputs(options: argparse.Namespace, problems: list[str]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Each input with how to open it, folders opened up."""
    if options.last_boot:
        from gonogo.cli import _last_boot

        yield from _last_boot.inputs()
        return
    for path in options.paths:
        if path == "-":
            if sys.stdin is not None and sys.stdin.isatty():
                _streams.write_error("gonogo diagnose: reading what you type or paste; Ctrl-D ends it")
            yield STDIN, _streams.standard_input
            continue
        try:
            found = opening.files_of(Path(path), problems)
        except (OSError, opening.Unreadable) as error:
            yield path, partial(_refused, error)
            continue
        except ValueError as error:  # a NUL byte in the path
            raise UsageError(f"cannot read {path!r}: {error}") from None
        for file in found:
            yield str(file), partial(opening.open_file, file)
