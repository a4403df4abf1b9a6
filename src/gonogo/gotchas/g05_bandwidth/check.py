"""G5 from the last stored measurement. A preflight measures nothing: a bandwidth test is intrusive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from gonogo.finding import FAIL, INFO, MEDIUM, SKIP, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, Missing, known
from gonogo.node.facts.sections.gpu import Gpu, devices_of
from gonogo.node.facts.sections.measurements import Bandwidth, Measurements
from gonogo.platforms.identify import Platform

#: Shares of the band's lower end below which an idle machine is suspicious, and wrong.
WARN_SHARE, FAIL_SHARE = 0.8, 0.5
#: A measurement says nothing of a machine that has since changed: a month, or another driver.
OLD = timedelta(days=30)


def check_measured(
    measurements: Measurements | Missing,
    gpu: Gpu | Missing,
    versions: Mapping[str, str],
    platform: Platform,
    collected_at: str,
) -> Iterator[Finding]:
    """Each kind of measurement against the band for its kind."""
    if isinstance(measurements, Missing):
        if measurements.reason in (NOT_FOUND, NOT_COLLECTED):
            yield Finding("G5.skipped", SKIP, f"not measured{_expected(platform)}")
        else:
            yield Finding("G5.unknown", UNKNOWN, f"the stored measurement: {measurements}")
        return
    names = {name for device in devices_of(gpu) for name in [known(device.name)] if name}
    runs = [run for run in known(measurements.bandwidth) or () if run.device in names and not platform.assumed]
    if not runs:
        yield Finding("G5.skipped", SKIP, f"not measured on this GPU{_expected(platform)}")
    for run in runs:
        yield _judge(run, platform, _changed(run, versions.get("driver"), collected_at))


def _expected(platform: Platform) -> str:
    """ "; expect copy 215 to 226, read 231 to 235 of 273 GB/s"."""
    profile = platform.profile
    bands = ", ".join(f"{kind} {low:g} to {high:g}" for kind, (low, high) in profile.bandwidth_bands.items())
    peak = profile.bandwidth_peak_gb_per_s
    if bands and peak:
        return f"; expect {bands} of {peak:g} GB/s"
    return f"; {peak:g} GB/s by specification" if peak else ""


def _changed(run: Bandwidth, driver: str | None, collected_at: str) -> str:
    """Why the measurement may no longer speak for this machine; empty where it does."""
    then = known(run.driver_version)
    if then and driver and then != driver:
        return f"with driver {then}"
    try:
        age = datetime.fromisoformat(collected_at[:19]) - datetime.fromisoformat(run.measured_at[:19])
    except (ValueError, TypeError):
        return "at an unknown time"
    return f"{age.days} days ago" if age > OLD else ""


def _judge(run: Bandwidth, platform: Platform, changed: str) -> Finding:
    median, peak = run.median_gb_per_s, platform.profile.bandwidth_peak_gb_per_s
    band = platform.profile.bandwidth_bands.get(run.kind)
    text = f"{run.kind} {median:.0f} GB/s measured {changed or 'on ' + run.measured_at[:10]}"
    evidence = (
        f"median {median:.1f} GB/s, spread {known(run.spread_percent)} %, {known(run.bytes_moved)} bytes moved",
        f"{run.device}, driver {known(run.driver_version)}, {run.measured_at}",
    )
    if not 0 < median < 1e6:
        return Finding("G5.unknown", UNKNOWN, f"{text} is no reading to believe", evidence)
    if peak is not None and median > peak:
        says = f"above the {peak:g} GB/s of the specification: a mistake in the measurement"
        return Finding("G5.above-specification", INFO, f"{text}: {says}", evidence)
    if band is None:
        return Finding("G5.measured", INFO, text + (f", {peak:g} by specification" if peak else ""), evidence)
    share, says = median / band[0], f"{band[0]:g} to {band[1]:g} expected"
    if share >= WARN_SHARE:
        return Finding("G5.measured", INFO, f"{text}, {says}", evidence)
    if changed or known(run.idle) is not True:
        why = "measured too long ago to judge" if changed else "not known to have been idle, so not judged"
        return Finding("G5.measured-low", INFO, f"{text}, {says}; {why}", evidence)
    status, confidence = (FAIL, MEDIUM) if share < FAIL_SHARE else (WARN, MEDIUM)
    return Finding("G5.below-band", status, f"{text} on an idle machine, {says}", evidence, confidence)
