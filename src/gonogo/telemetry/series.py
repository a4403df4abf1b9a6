"""Samples of one GPU in order of time: what a recorder wrote, or what a log holds."""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    """One reading; None for what was not recorded. ``seconds`` counts from the first sample, where times are known.

    ``place`` is the index of the line that it was read from, for evidence.
    """

    seconds: float | None = None
    utilization_gpu_percent: float | None = None
    clock_sm_mhz: float | None = None
    power_watts: float | None = None
    temperature_celsius: float | None = None
    event_reasons_active: tuple[str, ...] | None = None
    place: int = -1


Series = tuple[Sample, ...]


def span_seconds(series: Series) -> float | None:
    """Time from the first to the last sample; None where the times are not known."""
    times = [sample.seconds for sample in series if sample.seconds is not None]
    return times[-1] - times[0] if len(times) >= 2 else None
