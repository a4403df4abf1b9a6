"""The fast pass over a log: only lines that hold one of the literals are looked at, whatever the size of the log.

Memory stays bounded: a block of bytes, a cut of a long line, and a limited number of lines for each literal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gonogo.logs.cleaning import LIMIT_BYTES, clean, segments, uncoloured, window
from gonogo.logs.finder import Finder

BLOCK_BYTES = 1 << 20
#: A literal on this many lines tells nothing more: it is no longer looked for.
ENOUGH_LINES = 5000
#: A line longer than this is looked at in pieces, so much of each again with the next.
LONGEST_LINE_BYTES, OVERLAP_BYTES = 1 << 16, 512


class Line(NamedTuple):
    """A line that holds literals. ``number`` counts from 1; ``literals`` are indexes into those searched for."""

    file: str
    number: int
    text: str
    literals: frozenset[int]


class Scanner:
    """Fed block by block; calls ``found`` with each line that holds a literal."""

    def __init__(self, literals: Sequence[str], found: Callable[[Line], None]) -> None:
        self._literals, self._found = list(literals), found
        self._seen = [0] * len(self._literals)
        self._active = list(range(len(self._literals)))
        self._finder = Finder(self._literals)
        self.native = self._finder.native
        self.bytes_read = self.lines_read = 0

    def scan(self, file: str, blocks: Iterable[bytes]) -> None:
        """Read one input to its end. Where reading breaks off, what was handed out has been looked at."""
        number, rest, before = 1, b"", self.lines_read
        try:
            for block in blocks:
                self.bytes_read += len(block)
                data, rest = rest + block if rest else block, b""
                end = data.rfind(b"\n") + 1
                if end == 0 and len(data) < LONGEST_LINE_BYTES:
                    rest = data
                elif end == 0:  # a piece of a very long line: what may begin at its end is seen again with the next
                    self._block(file, number, data)
                    rest = data[-OVERLAP_BYTES:]
                else:
                    number = self._block(file, number, data[:end])
                    self.lines_read = before + number - 1
                    rest = data[end:]
        finally:
            if rest:
                self._block(file, number, rest)
                self.lines_read = before + number

    def _block(self, file: str, number: int, data: bytes) -> int:
        """Look at whole lines; returns the number of the line after them."""
        data = uncoloured(data)
        counted, done, begin, stop = 0, 0, 0, -1
        for _, start, end in self._finder.places(data):
            if start < done:
                continue  # that has been looked at
            if start > stop:
                begin = data.rfind(b"\n", 0, start) + 1
                stop = data.find(b"\n", end)
                stop = len(data) if stop < 0 else stop
                number += data.count(b"\n", counted, begin)
                counted = begin
            first, last = window(start - begin, stop - begin)
            self._line(file, number, data[begin + first : begin + last])
            # Near the end of a window what follows is cut off: that is looked at again in the next.
            done = stop if begin + last == stop else begin + last - LIMIT_BYTES // 4
        return number + data.count(b"\n", counted)

    def _line(self, file: str, number: int, whole: bytes) -> None:
        for part in segments(whole):
            literals = {self._active[index] for index in self._finder.all_in(part)}
            if literals:
                self._found(Line(file, number, clean(part), frozenset(literals)))
                self._count(literals)

    def _count(self, literals: set[int]) -> None:
        full = False
        for literal in literals:
            self._seen[literal] += 1
            full = full or self._seen[literal] == ENOUGH_LINES
        if full:
            self._active = [index for index in self._active if self._seen[index] < ENOUGH_LINES]
            self._finder = Finder([self._literals[index] for index in self._active])
