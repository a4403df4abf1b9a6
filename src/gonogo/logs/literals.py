"""The literals of which every match of a regular expression holds at least one: what the fast scan looks for.

Worked out from the parsed expression, so that whoever adds a signature need not name them. ASCII case of a pattern with
(?i) is folded: such literals are to be looked for in lower-cased text.
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
MOST = 64


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
    """The set whose shortest literal is longer; the smaller set among equals."""
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda found: (min(map(len, found)), -len(found)))


def _of_sequence(items: list[Any]) -> frozenset[str] | None:
    best: frozenset[str] | None = None
    run = ""
    for code, argument in items:
        if code == sre_constants.LITERAL:
            run += chr(argument)
            continue
        if run:
            best, run = _better(best, frozenset([run])), ""
        best = _better(best, _of_item(code, argument))
    return _better(best, frozenset([run])) if run else best


def _of_item(code: Any, argument: Any) -> frozenset[str] | None:
    if code == sre_constants.SUBPATTERN:
        return _of_sequence(list(argument[-1]))
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
