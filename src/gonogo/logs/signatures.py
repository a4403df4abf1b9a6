"""Signatures as typed data, read from the catalogue: the rows of each gotcha's ``signatures.toml``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gonogo.finding import HIGH

#: A cause is a diagnosis; an echo is one only where no cause is found; a note is harmless and is said so.
CAUSE, ECHO, NOTE = "cause", "echo", "note"
KINDS = (CAUSE, ECHO, NOTE)

#: What machine the log must be of: with unified memory, or with memory of its own.
UNIFIED, DISCRETE = "unified", "discrete"
#: Where a condition has to be met, relative to the signature's own line.
PLACES = ("anywhere", "before", "after", "same-line")


class Bound(NamedTuple):
    """A captured number must lie above and below these; None: no limit on that side."""

    group: str
    above: float | None = None
    below: float | None = None


class Condition(NamedTuple):
    """Another pattern that must (or must not) appear; ``within`` lines of the signature's own, 0 for any distance."""

    pattern: str
    literals: tuple[str, ...]
    place: str = "anywhere"
    within: int = 0


class Signature(NamedTuple):
    """One text by which a failure shows.

    ``needs`` must all be met, ``unless`` must none. ``device`` restricts it to logs of such machines: a log that names
    no device then gives low confidence. ``weight`` decides between causes of the same confidence, more is likelier.
    ``numbers`` bound what the pattern captured, which must be plain decimal numbers. ``text`` is a sentence that may
    name captures in braces.
    """

    gotcha: str
    code: str
    pattern: str
    literals: tuple[str, ...]
    kind: str = CAUSE
    confidence: str = HIGH
    weight: int = 0
    device: str = ""
    needs: tuple[Condition, ...] = ()
    unless: tuple[Condition, ...] = ()
    numbers: tuple[Bound, ...] = ()
    text: str = ""
    source: str = ""

    @property
    def full_code(self) -> str:
        """G1.missing-runtime."""
        return f"{self.gotcha}.{self.code}"


def signatures_of(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[Signature]:
    """The catalogue's rows by gotcha as signatures, in the same order."""
    return [_signature(gotcha, row) for gotcha, entries in rows.items() for row in entries]


def _signature(gotcha: str, row: Mapping[str, Any]) -> Signature:
    return Signature(
        gotcha,
        row["code"],
        row["pattern"],
        tuple(row["literals"]),
        row.get("kind", CAUSE),
        row.get("confidence", HIGH),
        row.get("weight", 0),
        row.get("device", ""),
        _conditions(row.get("needs", ())),
        _conditions(row.get("unless", ())),
        tuple(Bound(item["group"], item.get("above"), item.get("below")) for item in row.get("numbers", ())),
        row.get("text", ""),
        row.get("source", ""),
    )


def _conditions(rows: Iterable[Mapping[str, Any]]) -> tuple[Condition, ...]:
    return tuple(
        Condition(row["pattern"], tuple(row["literals"]), row.get("place", "anywhere"), row.get("within", 0))
        for row in rows
    )
