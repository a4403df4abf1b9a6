"""The one result type: what is wrong, how it is known, how sure that is, what to do first and how to undo it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

PASS, SKIP, INFO, UNKNOWN, WARN, FAIL = "PASS", "SKIP", "INFO", "UNKNOWN", "WARN", "FAIL"

#: Best to worst. SKIP: does not apply, was not asked for, or the thing itself is absent. UNKNOWN: it is there, or must
#: be, and did not answer.
STATUSES = (PASS, SKIP, INFO, UNKNOWN, WARN, FAIL)
_RANK = {status: rank for rank, status in enumerate(STATUSES)}

HIGH, MEDIUM, LOW = "high", "medium", "low"
CONFIDENCES = (HIGH, MEDIUM, LOW)

#: What a step changes: nothing; only until a restart; what its undo takes back; what takes more; what nothing does.
IMPACTS = ("none", "transient", "reversible", "persistent", "irreversible")


def rank(status: str) -> int:
    """The place of ``status`` in STATUSES; larger is worse."""
    return _RANK[status]


class FixStep(NamedTuple):
    """One step of a remedy. ``undo`` is empty where nothing has to be undone."""

    step: str
    impact: str
    undo: str = ""


class Acceptance(NamedTuple):
    """What took a finding out of the count: ``status`` is what it was, ``until`` the last day or None (ISO 8601)."""

    status: str
    reason: str
    until: str | None
    source: str  # the file that says so, as it was looked for


class Finding(NamedTuple):
    """A judgement on one point. ``code`` is the gotcha's number and a name: G1.unresolved-library.

    ``values`` fill the placeholders of the catalogue's fix steps; ``file``, ``line`` and ``column`` point into a
    file that was read, ``key`` and ``value`` name the setting found there.
    """

    code: str
    status: str
    message: str
    evidence: tuple[str, ...] = ()
    confidence: str = HIGH
    fix: tuple[FixStep, ...] = ()
    values: Mapping[str, str] = MappingProxyType({})
    file: str | None = None
    line: int | None = None
    column: int | None = None
    key: str | None = None
    value: str | None = None
    accepted: Acceptance | None = None

    @property
    def gotcha(self) -> str:
        """G1 of G1.unresolved-library."""
        return self.code.partition(".")[0]


def number(gotcha: str) -> int:
    """10 of G10."""
    return int(gotcha[1:])


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Worst status first; among equals accepted ones first, then by gotcha number and in the order given."""
    return sorted(findings, key=lambda item: (-rank(item.status), item.accepted is None, number(item.gotcha)))
