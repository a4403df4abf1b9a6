"""Dated data: what is known of a version of something. Rows stand in a gotcha's ``known.toml``; one rule for all.

A row has ``subject`` (a key of ``platforms.inventory``), ``range`` (see ``ranges``), ``code``, ``status``, ``text``,
``source``, ``verified``, and ``where``: a platform id or "unified" for the machines that it concerns; without it all.
``unless`` is a range of another subject that makes the row void: {subject = "ota", range = ">=7.6"}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gonogo.finding import HIGH, Finding
from gonogo.platforms.identify import Platform
from gonogo.ranges import within


class Known(NamedTuple):
    """One row. ``words`` says what the subject is, for people: "kernel", "host driver"."""

    subject: str
    range: str
    code: str
    status: str
    text: str
    source: str
    verified: str
    words: str = ""
    where: str = ""
    confidence: str = HIGH
    unless: Mapping[str, str] | None = None
    values: Mapping[str, str] | None = None


def rows_of(entry: Mapping[str, Any]) -> tuple[Known, ...]:
    """The rows that a gotcha's catalogue entry carries."""
    return tuple(Known(**row) for row in entry.get("known", ()))


def matching(rows: Iterable[Known], versions: Mapping[str, str], platform: Platform) -> Iterator[tuple[Known, str]]:
    """The rows that hold here, each with the version found."""
    for row in rows:
        version = versions.get(row.subject)
        if version is None or not _concerns(row.where, platform) or not within(version, row.range):
            continue
        other = row.unless or {}
        spared = versions.get(other.get("subject", ""))
        if spared is None or not within(spared, other["range"]):
            yield row, version


def findings(gotcha: str, rows: Iterable[Known], versions: Mapping[str, str], platform: Platform) -> Iterator[Finding]:
    """A finding for each row that holds."""
    for row, version in matching(rows, versions, platform):
        yield Finding(
            f"{gotcha}.{row.code}",
            row.status,
            f"{row.words or row.subject.partition(':')[2] or row.subject} {version}: {row.text}",
            evidence=(f"{row.source} ({row.verified})", f"known for {row.range}"),
            confidence=row.confidence,
            values=row.values or {},
        )


def _concerns(where: str, platform: Platform) -> bool:
    return where in ("", platform.id) or (where == "unified" and platform.unified_memory)
