"""Patterns against the lines that the fast pass found, and the conditions that tie patterns together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from gonogo.logs.scanning import Line
from gonogo.logs.signatures import Bound, Condition, Signature

#: Matches kept of one pattern: the first ones name the cause, the last ones what it came to.
KEPT_FIRST, KEPT_LAST = 50, 20


#: A line is shown up to here, with the match in it.
SHOWN_CHARACTERS = 400
#: What stands behind these was said by somebody, not by the program: a user's prompt, a test's name, a list of changes.
_QUOTING = re.compile(
    r"Received request |\b[Pp]rompt: ['\"]|\"role\": ?\"user\"|\bcaught expected "
    r"|^.{0,400}::test_.{0,400}\bPASSED\b|^\s*[-*] (?:Fix|Fixed|Fixes|Add|Added|Handle) "
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # The cache of the module re is smaller than the catalogue.
    return re.compile(pattern)


class Match(NamedTuple):
    """A pattern found in a line. ``order`` counts lines over all inputs, in the order they were read."""

    file: str
    number: int
    order: int
    text: str
    groups: dict[str, str]


class Sighting(NamedTuple):
    """A signature whose conditions are met."""

    signature: Signature
    match: Match
    with_: tuple[Match, ...] = ()  # the lines that met its conditions


class Matcher:
    """Knows which patterns a literal stands for; ``take`` is what the scanner calls."""

    def __init__(self, patterns: Iterable[tuple[str, Sequence[str]]]) -> None:
        self.literals: list[str] = []
        self._patterns: list[str] = []
        self._of_literal: list[list[int]] = []
        self._index: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._found: dict[int, list[Match]] = {}
        self._dropped: dict[int, list[int]] = {}  # the order of matches that are not kept
        self._base = 0
        for pattern, literals in patterns:
            self._add(pattern, literals)

    def _add(self, pattern: str, literals: Sequence[str]) -> None:
        if pattern in self._index:
            return
        self._index[pattern] = len(self._patterns)
        self._patterns.append(pattern)
        for literal in literals:
            if literal not in self._places:
                self._places[literal] = len(self.literals)
                self.literals.append(literal)
                self._of_literal.append([])
            self._of_literal[self._places[literal]].append(self._index[pattern])

    def next_file(self, lines: int) -> None:
        """The following lines belong to another input; the one before had ``lines``."""
        self._base += lines + 1_000_000  # no condition "within so many lines" reaches over the gap

    def take(self, line: Line) -> None:
        """Try every pattern that one of the line's literals stands for."""
        tried: set[int] = set()
        for literal in line.literals:
            for index in self._of_literal[literal]:
                if index not in tried:
                    tried.add(index)
                    self._try(index, line)

    def _try(self, index: int, line: Line) -> None:
        found = _compiled(self._patterns[index]).search(line.text)
        if found is None or _quoted(line.text, found.start()):
            return
        groups = {name: value for name, value in found.groupdict().items() if value is not None}
        kept = self._found.setdefault(index, [])
        kept.append(Match(line.file, line.number, self._base + line.number, _around(line.text, found.start()), groups))
        if len(kept) > KEPT_FIRST + KEPT_LAST:
            self._dropped.setdefault(index, []).append(kept.pop(KEPT_FIRST).order)

    def of(self, pattern: str) -> list[Match]:
        """The kept matches of a pattern, in order."""
        return self._found.get(self._index.get(pattern, -1), [])

    def sightings(self, signatures: Iterable[Signature]) -> list[Sighting]:
        """For each signature its first line whose conditions are met."""
        found = []
        for signature in signatures:
            for match in self.of(signature.pattern):
                met = self._conditions(signature, match)
                if met is not None:
                    found.append(Sighting(signature, match, met))
                    break
        return found

    def _conditions(self, signature: Signature, match: Match) -> tuple[Match, ...] | None:
        if not all(_within(bound, match.groups) for bound in signature.numbers):
            return None
        met = []
        for condition in signature.needs:
            other = self._meets(condition, match)
            if other is None:
                return None
            met.append(other)
        if any(self._meets(condition, match) is not None for condition in signature.unless):
            return None
        return tuple(met)

    def _meets(self, condition: Condition, match: Match) -> Match | None:
        """The line that meets it; the match itself where that line is not kept."""
        for other in self.of(condition.pattern):
            if _stands(condition, other.order - match.order):
                return other
        dropped = self._dropped.get(self._index.get(condition.pattern, -1), ())
        return match if any(_stands(condition, order - match.order) for order in dropped) else None


def _stands(condition: Condition, distance: int) -> bool:
    """Whether so many lines further on (before: negative) is where the condition wants it."""
    if condition.place == "same-line" and distance != 0:
        return False
    if (condition.place == "before" and distance > 0) or (condition.place == "after" and distance < 0):
        return False
    return not condition.within or abs(distance) <= condition.within


def _quoted(text: str, start: int) -> bool:
    said = _QUOTING.search(text)
    return said is not None and (said.start() <= start or "PASSED" in said.group())


def _around(text: str, start: int) -> str:
    """A long line as what stands around the match."""
    if len(text) <= SHOWN_CHARACTERS:
        return text
    first = max(0, min(start - SHOWN_CHARACTERS // 4, len(text) - SHOWN_CHARACTERS))
    return ("..." if first else "") + text[first : first + SHOWN_CHARACTERS]


def _within(bound: Bound, groups: dict[str, str]) -> bool:
    try:
        value = float(groups[bound.group].replace(",", ""))
    except (KeyError, ValueError):
        return False
    return (bound.above is None or value > bound.above) and (bound.below is None or value < bound.below)


def patterns_of(signatures: Iterable[Signature]) -> list[tuple[str, tuple[str, ...]]]:
    """Every pattern of the signatures, conditions included, with its literals."""
    found = []
    for signature in signatures:
        found.append((signature.pattern, signature.literals))
        found += [(other.pattern, other.literals) for other in (*signature.needs, *signature.unless)]
    return found
