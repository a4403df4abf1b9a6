"""Version ranges of dated data: ">=590,<600", "==6.17.0-1021", "*".

One rule for kernels, drivers, packages and images: the leading numbers are compared, part by part, absent ones as 0. A
suffix ("-nvidia", "rc1", "+cu130", "-0ubuntu1") takes no part, and neither does the epoch of a Debian version. "=="
compares as many parts as it names, so that "==590" holds for 590.48.01.
"""

from __future__ import annotations

import operator
import re

_CLAUSE = re.compile(r"\s*(==|>=|<=|<|>)\s*([0-9]+(?:[.-][0-9]+)*)\s*$")
_ORDER = {">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt}


def numbers(version: str) -> tuple[int, ...]:
    """(6, 17, 0, 1021) of "6.17.0-1021-nvidia"; empty where it does not begin with a number."""
    text = re.sub(r"^[0-9]+:|^v(?=[0-9])", "", version.strip())
    found = re.match(r"[0-9]{1,9}(?![0-9])(?:\.[0-9]{1,9}(?![0-9])|-[0-9]{1,9}(?![0-9A-Za-z]))*", text)
    return tuple(int(part) for part in re.split(r"[.-]", found.group(0))) if found else ()


def clauses(range_: str) -> list[tuple[str, tuple[int, ...]]]:
    """The comparisons of a range, none for "*". Raises ValueError for one that cannot be read."""
    if range_.strip() == "*":
        return []
    found = []
    for part in range_.split(","):
        clause = _CLAUSE.match(part)
        if clause is None:
            raise ValueError(f"{range_!r} is no range of versions")
        found.append((clause.group(1), numbers(clause.group(2))))
    return found


def within(version: str, range_: str) -> bool:
    """Whether ``version`` lies in ``range_``. A version without numbers lies in no range but "*"."""
    have = numbers(version)
    wanted = clauses(range_)
    if not wanted:
        return True
    return bool(have) and all(_holds(have, sign, limit) for sign, limit in wanted)


def _holds(have: tuple[int, ...], sign: str, limit: tuple[int, ...]) -> bool:
    length = max(len(have), len(limit))
    have += (0,) * (length - len(have))
    if sign == "==":
        return have[: len(limit)] == limit
    return bool(_ORDER[sign](have, limit + (0,) * (length - len(limit))))
