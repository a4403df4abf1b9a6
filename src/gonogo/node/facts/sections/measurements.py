"""Measurements that the user took with gonogo and that were kept in their state folder."""

from __future__ import annotations

from typing import NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Bandwidth(NamedTuple):
    """One run of a bandwidth test. ``kind`` is copy (read plus write counted) or read."""

    kind: str
    median_gb_per_s: float  # 10^9 bytes
    measured_at: str  # UTC, ISO 8601
    device: str  # the GPU's name
    driver_version: str | Missing = UNCOLLECTED
    spread_percent: float | Missing = UNCOLLECTED  # (p95 - p5) / median
    bytes_moved: int | Missing = UNCOLLECTED
    idle: bool | Missing = UNCOLLECTED  # no other GPU process ran


class Measurements(NamedTuple):
    """The last run of each kind."""

    bandwidth: tuple[Bandwidth, ...] | Missing = UNCOLLECTED
