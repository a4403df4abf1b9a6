"""The second conductor: read logs, weigh what they show. One class for every verb that asks why a run died."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from gonogo import catalogue
from gonogo.diagnosis import judging, parallel, weighing
from gonogo.diagnosis.outcome import Diagnosis, Evidence, Note, Outcome
from gonogo.logs import cleaning, device
from gonogo.logs.matching import Matcher, patterns_of
from gonogo.logs.readings import partial
from gonogo.logs.scanning import Line, Scanner
from gonogo.logs.signatures import Signature, signatures_of

__all__ = ["Diagnosis", "Evidence", "Note", "Outcome", "Reader", "all_signatures", "of_text"]

#: An input up to this size is looked at line by line for figures; of a larger one only lines that name them.
SMALL_BYTES = 1 << 20
#: Lines kept for readings, over all inputs.
MOST_LINES = 50_000


@cache
def all_signatures() -> list[Signature]:
    """Every signature of the catalogue, in the order of the gotchas."""
    return signatures_of(catalogue.signatures())


class Reader:
    """Takes inputs one after the other; ``outcome`` says what they came to so far."""

    def __init__(self) -> None:
        self._signatures = all_signatures()
        self._matcher = Matcher([*patterns_of(self._signatures), *device.patterns()])
        known = set(self._matcher.literals)
        literals = [*self._matcher.literals, *(text for text in partial.LITERALS if text not in known)]
        self._of_readings = frozenset(literals.index(text) for text in partial.LITERALS)
        self._of_patterns = len(self._matcher.literals)
        self._lines: list[Line] = []
        self._literals = literals
        self._scanner = Scanner(literals, self._take)

    @property
    def native(self) -> bool:
        """Whether the fast engine is there."""
        return self._scanner.native

    @property
    def bytes_read(self) -> int:
        """Bytes of all inputs so far, unpacked."""
        return self._scanner.bytes_read

    @property
    def lines_read(self) -> int:
        """Lines of all inputs so far."""
        return self._scanner.lines_read

    def read(self, file: str, blocks: Iterable[bytes]) -> None:
        """Read one input to its end. What was taken in stays, also where reading breaks off."""
        before, small, lines = len(self._lines), bytearray(), self.lines_read
        try:
            self._scanner.scan(file, _kept(blocks, small))
        finally:
            self._matcher.next_file(self.lines_read - lines)
            if len(small) <= SMALL_BYTES:
                self._lines[before:] = islice(_all_lines(file, bytes(small)), MOST_LINES - before)

    def read_in_parts(self, file: str, path: Path, parts: Sequence[parallel.Part]) -> None:
        """Read a large plain file with a process for each part beyond the first. Raises OSError."""
        before, waiting = self.lines_read, [parallel.Child(path, part, self._literals) for part in parts[1:]]
        try:
            self._scanner.scan(file, parallel.blocks_of(path, parts[0]))
            while waiting:
                size, count = waiting[0].lines(file, self.lines_read - before, self._take)
                waiting.pop(0)
                self._scanner.bytes_read += size
                self._scanner.lines_read += count
        finally:
            for child in waiting:
                child.stop()
            self._matcher.next_file(self.lines_read - before)

    def _take(self, line: Line) -> None:
        if line.literals & self._of_readings and len(self._lines) < MOST_LINES:
            self._lines.append(line)
        ours = frozenset(literal for literal in line.literals if literal < self._of_patterns)
        if ours:
            self._matcher.take(line._replace(literals=ours))

    def told_device(self) -> device.Device:
        """The device that the logs themselves name."""
        return device.told_by(self._matcher)

    def outcome(self, given: device.Device | None = None) -> Outcome:
        """The diagnoses, most likely first, and the notes. ``given``: the device, where it is known otherwise."""
        seen = given or self.told_device()
        return weighing.weigh(self._signatures, self._matcher, seen, judging.of_readings(self._lines, seen))


def _kept(blocks: Iterable[bytes], small: bytearray) -> Iterator[bytes]:
    """``blocks``, copied into ``small`` until it is more than small."""
    for block in blocks:
        if len(small) <= SMALL_BYTES:
            small += block[: SMALL_BYTES + 1 - len(small)]
        yield block


def _all_lines(file: str, content: bytes) -> Iterator[Line]:
    for number, line in enumerate(content.split(b"\n"), 1):
        for part in cleaning.segments(line[: cleaning.LIMIT_BYTES]):
            yield Line(file, number, cleaning.clean(part), frozenset())


def of_text(text: str | bytes, file: str = "log") -> Outcome:
    """The diagnosis of a log that is at hand whole."""
    reader = Reader()
    reader.read(file, [text.encode() if isinstance(text, str) else text])
    return reader.outcome()
