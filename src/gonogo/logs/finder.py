"""Finding many literals in a block of bytes: with the Aho-Corasick automaton of ahocorasick-rs, or without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Finder:
    """Where any of ``literals`` stands in a block. ``native`` is False where the automaton is not installed."""

    def __init__(self, literals: Sequence[str]) -> None:
        self.literals = [literal.encode() for literal in literals]
        self.native = False
        self._automaton: Any = None
        if not self.literals:
            return
        try:
            import ahocorasick_rs
        except ImportError:
            return
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            self.literals, implementation=ahocorasick_rs.Implementation.DFA
        )
        self.native = True

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
