"""``plain``: exactly ten lines, G1 to G10 in order, for scripts. G11 and up follow only when WARN, FAIL or accepted."""

from __future__ import annotations

from gonogo import catalogue
from gonogo.finding import INFO, SKIP, WARN, Finding, number, rank
from gonogo.preflight import Preflight
from gonogo.printable import printable
from gonogo.report import Style

TEN = 10


def render(preflight: Preflight, style: Style) -> str:
    """One line a gotcha, ``G<n> <STATUS>: message``, its worst finding; with ``verbose`` one line a finding."""
    lines = []
    for gotcha in catalogue.gotchas():
        found = preflight.of(gotcha)
        if number(gotcha) > TEN and not style.verbose and not any(map(_speaks_up, found)):
            continue
        if style.verbose and found:
            lines += [_line(item) for item in found]
        else:
            lines.append(_worst(gotcha, found))
    return "\n".join(lines) + "\n"


def _speaks_up(item: Finding) -> bool:
    return rank(item.status) >= rank(WARN) or item.accepted is not None


def _worst(gotcha: str, found: list[Finding]) -> str:
    if not found:
        return f"{gotcha} {SKIP}: not selected"
    more = sum(1 for item in found[1:] if rank(item.status) >= rank(INFO))
    return _line(found[0]) + (f" (+{more} more)" if more else "")


def _line(item: Finding) -> str:
    return f"{item.gotcha} {item.status}: {printable(item.message)}"
