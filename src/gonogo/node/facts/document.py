"""The facts document: sections by name, who collected them, when and how long it took."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

SCHEMA = "gonogo/facts"
SCHEMA_VERSION = 2


class CollectorRun(NamedTuple):
    """How one collector went: ``outcome`` is ok or the reason that its section is missing."""

    name: str
    seconds: float
    outcome: str = "ok"


class Facts(NamedTuple):
    """``sections`` maps a section's name to its own type or to a Missing; see the modules beside this one."""

    sections: Mapping[str, Any]
    collected_at: str = ""  # UTC, ISO 8601
    tool_version: str = ""
    collectors: tuple[CollectorRun, ...] = ()
