"""The literals of which every match of a regular expression holds at least one: what the fast scan looks for.

Worked out from the parsed expression, so that whoever adds a signature need not name them. What ignores case has none.
"""

from __future__ import annotations

import re
from typing import Any

try:  # the parser moved in Python 3.11
    from re import _constants as sre_constants  # type: ignore[attr-defined,unused-ignore]
    from re import _parser as sre_parse  # type: ignore[attr-defined,unused-ignore]
except ImportError:
    import sre_constants  # type: ignore[no-redef,unused-ignore]
    import sre_parse  # type: ignore[no-redef,unused-ignore]

#: Shorter ones would be found everywhere.
SHORTEST = 4
#: An alternation of more than this many literals says nothing useful.
MOST = 128
#: Longer literals are no rarer: fewer of them are better.
LONG_ENOUGH = 10
#: A run of characters is spelled out in at most so many ways; a class of at most so many letters.
MOST_WAYS, MOST_LETTERS = 8, 3


def required(pattern: str) -> tuple[str, ...]:
    """Literals of which each match holds at least one, the most telling set there is.

    Raises ValueError where there is none of at least SHORTEST characters: such a pattern would need every line looked
    at.
    """
    parsed = sre_parse.parse(pattern)
    if parsed.state.flags & re.IGNORECASE:
        raise ValueError(f"{pattern!r}: write [Aa] where the case is open, (?i) has no literals")
    best = _of_sequence(list(parsed))
    if best is None or min(map(len, best)) < SHORTEST:
        raise ValueError(f"{pattern!r} holds no literal of {SHORTEST} characters that every match must have")
    return tuple(sorted(best))


def _better(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """The set whose shortest literal is longer, up to LONG_ENOUGH; the smaller set among equals."""
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda found: (min(LONG_ENOUGH, *map(len, found)), -len(found)))


def _of_sequence(items: list[Any]) -> frozenset[str] | None:
    """Runs of what can be spelled out in a few ways, and what is inside the items between them."""
    best: frozenset[str] | None = None
    run = frozenset([""])
    for code, argument in items:
        ways = _spelled(code, argument)
        longer = None if ways is None else frozenset(before + after for before in run for after in ways)
        if longer is not None and len(longer) <= MOST_WAYS:
            run = longer
            continue
        best, run = _better(best, _useful(run)), frozenset([""]) if ways is None else ways
        best = _better(best, _of_item(code, argument))
    return _better(best, _useful(run))


def _useful(run: frozenset[str]) -> frozenset[str] | None:
    return None if "" in run else run


def _spelled(code: Any, argument: Any) -> frozenset[str] | None:
    """Every text that the item can match, where they are few; None where they are not."""
    if code == sre_constants.LITERAL:
        return frozenset([chr(argument)])
    if code == sre_constants.IN:
        letters = [chr(value) for kind, value in argument if kind == sre_constants.LITERAL]
        return frozenset(letters) if len(letters) == len(argument) <= MOST_LETTERS else None
    if code == sre_constants.AT:  # ^, $, \b: nothing is matched by them
        return frozenset([""])
    if code == sre_constants.SUBPATTERN:
        return None if argument[1] & re.IGNORECASE else _all_spelled(list(argument[-1]))
    if code == sre_constants.BRANCH:
        branches = [_all_spelled(list(branch)) for branch in argument[1]]
        found = frozenset().union(*(branch for branch in branches if branch is not None))
        return found if all(branch is not None for branch in branches) and len(found) <= MOST_WAYS else None
    if code in (sre_constants.MAX_REPEAT, sre_constants.MIN_REPEAT) and argument[:2] == (0, 1):
        body = _all_spelled(list(argument[2]))
        return None if body is None else body | {""}
    return None


def _all_spelled(items: list[Any]) -> frozenset[str] | None:
    found = frozenset([""])
    for code, argument in items:
        ways = _spelled(code, argument)
        if ways is None:
            return None
        found = frozenset(before + after for before in found for after in ways)
        if len(found) > MOST_WAYS:
            return None
    return found


def _of_item(code: Any, argument: Any) -> frozenset[str] | None:
    if code == sre_constants.SUBPATTERN:
        return None if argument[1] & re.IGNORECASE else _of_sequence(list(argument[-1]))
    if code in (sre_constants.MAX_REPEAT, sre_constants.MIN_REPEAT):
        least, _, body = argument
        return _of_sequence(list(body)) if least > 0 else None
    if code == sre_constants.BRANCH:
        found: set[str] = set()
        for branch in argument[1]:
            literals = _of_sequence(list(branch))
            if literals is None:
                return None
            found |= literals
        return frozenset(found) if found and len(found) <= MOST else None
    return None
