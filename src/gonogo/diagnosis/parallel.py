"""A large file read by several processes at once, each its part. The results are as if one had read it all.

A part ends at a line's end. What a child finds goes through a temporary file, so that nobody waits for a full pipe.
"""

from __future__ import annotations

import marshal
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from gonogo.logs.scanning import BLOCK_BYTES, Line, Scanner

#: Smaller files are read sooner than processes are started.
LARGE_BYTES = 128 << 20
MOST_PARTS = 4
#: A line that is longer than this at the end of a part: the file is not cut up.
LONGEST_LINE_BYTES = 1 << 20
#: Lines that a child hands over; more of them tell nothing more.
MOST_LINES = 100_000


class Part(NamedTuple):
    """Bytes from ``start`` up to ``end`` of a file."""

    start: int
    end: int


def parts_of(path: Path) -> list[Part]:
    """How to cut the file up; one part where it is small, where processes cannot be forked or where lines are huge."""
    size = path.stat().st_size if path.is_file() else 0
    count = min(os.cpu_count() or 1, MOST_PARTS)
    if size < LARGE_BYTES or count < 2 or not hasattr(os, "fork"):
        return [Part(0, size)]
    cuts = [0]
    with path.open("rb") as file:
        for number in range(1, count):
            file.seek(size * number // count)
            newline = file.read(LONGEST_LINE_BYTES).find(b"\n")
            if newline < 0:
                return [Part(0, size)]
            cuts.append(size * number // count + newline + 1)
    return [Part(start, end) for start, end in zip(cuts, [*cuts[1:], size], strict=True) if start < end]


def blocks_of(path: Path, part: Part) -> Iterator[bytes]:
    """The bytes of a part, in blocks."""
    with path.open("rb", buffering=0) as file:
        file.seek(part.start)
        left = part.end - part.start
        while left > 0:
            block = file.read(min(left, BLOCK_BYTES))
            if not block:
                return
            left -= len(block)
            yield block


class Child:
    """A process that scans one part."""

    def __init__(self, path: Path, part: Part, literals: Sequence[str]) -> None:
        self._into: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with its results
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
                self._scan(path, part, literals)
                status = 0
            finally:
                os._exit(status)

    def _scan(self, path: Path, part: Part, literals: Sequence[str]) -> None:
        rows: list[tuple[int, str, tuple[int, ...]]] = []

        def found(line: Line) -> None:
            if len(rows) < MOST_LINES:
                rows.append((line.number, line.text, tuple(line.literals)))

        scanner = Scanner(literals, found)
        scanner.scan("", blocks_of(path, part))
        marshal.dump((scanner.bytes_read, scanner.lines_read, rows), self._into)
        self._into.flush()

    def lines(self, file: str, before: int, take: Callable[[Line], None]) -> tuple[int, int]:
        """Wait for it and hand its lines to ``take``, numbered on from ``before``. Raises OSError where it broke.

        Returns the bytes and lines that it read.
        """
        _, status = os.waitpid(self.pid, 0)
        if status != 0:
            raise OSError("a process that read a part of it ended early")
        self._into.seek(0)
        size, count, rows = marshal.load(self._into)
        self._into.close()
        for number, text, literals in rows:
            take(Line(file, before + number, text, frozenset(literals)))
        return size, count

    def stop(self) -> None:
        """End it, without results."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except OSError:
            pass
        self._into.close()
