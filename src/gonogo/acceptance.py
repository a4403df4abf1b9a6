"""The accept list: findings that somebody has looked at and lives with, each with a reason and perhaps a last day.

An accepted finding stays in every output and counts as INFO. Pure rules: nothing here reads a file or a clock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from gonogo import selection
from gonogo.finding import FAIL, INFO, UNKNOWN, WARN, Acceptance, Finding

#: What can be accepted; the others count for nothing anyway.
COUNTED = (UNKNOWN, WARN, FAIL)
_KEYS = ("reason", "until")


class AcceptanceError(ValueError):
    """An accept list says something that cannot be meant; the message is one line."""


class Entry(NamedTuple):
    """One line of an accept list. ``selector`` is a gotcha or a code; it holds through the day ``until`` (ISO 8601)."""

    selector: str
    reason: str
    until: str | None
    source: str


def entries(table: Any, source: str, gotchas: Collection[str], codes: Collection[str]) -> tuple[Entry, ...]:
    """The entries of ``table``, the value of ``accept`` in a file ``source``. Raises AcceptanceError."""
    if not isinstance(table, Mapping):
        raise AcceptanceError('accept must be a table, such as [accept.G9] or [accept."G9.no-marker"]')
    # Every gotcha can give .unknown; the catalogue does not list it.
    known = {*codes, *(f"{gotcha}.unknown" for gotcha in gotchas)}
    found: dict[str, Entry] = {}
    for key, value in table.items():
        selector = _selector(key, gotchas, known)
        if selector in found:
            raise AcceptanceError(f"accept.{_short(key)}: {selector} stands there twice")
        found[selector] = _entry(selector, value, source, known)
    return tuple(found.values())


def merged(*lists: Iterable[Entry]) -> tuple[Entry, ...]:
    """One list of several; where two have an entry for the same thing, the earlier list's."""
    found: dict[str, Entry] = {}
    for item in (item for each in lists for item in each):
        found.setdefault(item.selector, item)
    return tuple(found.values())


def applied(item: Finding, accepted: Iterable[Entry], today: str) -> Finding:
    """The finding as it counts on the day ``today``. Of several entries the one that names it most closely decides."""
    if item.status not in COUNTED:
        return item
    covering = [entry for entry in accepted if selection.Selection((entry.selector,)).keeps(item.code)]
    if not covering:
        return item
    entry = max(covering, key=lambda entry: len(entry.selector))
    # The words stand at the end: scripts read figures at the beginning of messages.
    if entry.until is not None and entry.until < today:
        return item._replace(message=f"{item.message} (acceptance ran out on {entry.until}: {entry.reason})")
    until = f" until {entry.until}" if entry.until is not None else ""
    return item._replace(
        status=INFO,
        message=f"{item.message} (accepted {item.status}{until}: {entry.reason})",
        accepted=Acceptance(item.status, entry.reason, entry.until, entry.source),
    )


# -- one entry --------------------------------------------------------------------------------------------------------


def _selector(key: str, gotchas: Collection[str], codes: Collection[str]) -> str:
    try:
        (selector,) = selection.parse([key], gotchas, codes)
    except ValueError:  # no such thing, or several with commas
        raise AcceptanceError(
            f"accept: {_short(key)!r} is no gotcha and no finding code: gonogo list --codes shows them"
        ) from None
    return selector


def _entry(selector: str, value: Any, source: str, codes: Collection[str]) -> Entry:
    where = f"accept.{selector}"
    if not isinstance(value, Mapping):
        raise AcceptanceError(f'{where} must be a table, such as {{reason = "why"}}')
    for key in value:
        if f"{selector}.{key}" in codes:
            raise AcceptanceError(f'{where}.{key}: write a code in quotes, [accept."{selector}.{key}"]')
        if key not in _KEYS:
            raise AcceptanceError(f"{where}: unknown key {_short(key)!r}: {' and '.join(_KEYS)} are known")
    reason = value.get("reason")
    if not isinstance(reason, str) or len(reason.strip().splitlines()) != 1:
        raise AcceptanceError(f"{where}: reason must be one line of text that says why")
    return Entry(selector, reason.strip(), _until(value.get("until"), where), source)


def _until(value: Any, where: str) -> str | None:
    if value is None:
        return None
    import datetime  # only for lists that have a date in them

    day = value
    if isinstance(value, str):
        try:
            day = datetime.date.fromisoformat(value)
        except ValueError:
            day = None
        else:  # later Pythons read 20270131 and 2027-W04-7 too
            day = day if day.isoformat() == value else None
    if type(day) is not datetime.date:  # a date and time is a date as well
        raise AcceptanceError(f"{where}: until must be a day, such as 2027-01-31")
    return day.isoformat()


def _short(key: str) -> str:
    return key if len(key) <= 60 else f"{key[:57]}..."
