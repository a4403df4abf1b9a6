"""Finding many literals in a block of bytes: with the Aho-Corasick automaton of ahocorasick-rs, or without it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=4)
def _automaton(literals: tuple[bytes, ...]) -> Any:
    """Built once for the same literals: it takes 30 ms. None where the package is not installed."""
    try:
        import ahocorasick_rs
    except ImportError:
        return None
    return ahocorasick_rs.BytesAhoCorasick(literals, implementation=ahocorasick_rs.Implementation.DFA)


class Finder:
    """Where any of ``literals`` stands in a block. ``native`` is False where the automaton is not installed."""

    def __init__(self, literals: Sequence[str]) -> None:
        self.literals = tuple(literal.encode() for literal in literals)
        self._automaton = _automaton(self.literals) if self.literals else None
        self.native = self._automaton is not None

    def places(self, block: bytes) -> Sequence[tuple[int, int, int]]:
        """(literal, start, end) of matches in order of place; of overlapping ones at least one."""
        if self._automaton is not None:
            return self._automaton.find_matches_as_indexes(block)  # type: ignore[no-any-return]
        found = []
        for index, literal in enumerate(self.literals):
            start = block.find(literal)
            while start >= 0:
                found.append((index, start, start + len(literal)))
                start = block.find(literal, start + len(literal))
        return sorted(found, key=lambda place: place[1])

    def all_in(self, line: bytes) -> set[int]:
        """Every literal that the line holds, overlapping ones too."""
        if self._automaton is not None:
            return {index for index, _, _ in self._automaton.find_matches_as_indexes(line, overlapping=True)}
        return {index for index, literal in enumerate(self.literals) if literal in line}
