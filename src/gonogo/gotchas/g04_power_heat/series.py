"""G4 over time: a stuck power contract, heat that slows the GPU down, or neither. Never by watts alone."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.finding import FAIL, HIGH, MEDIUM, WARN, Finding
from gonogo.platforms.identify import Platform
from gonogo.telemetry.series import Sample, Series, span_seconds

#: Where the profile has no figures of its own: those of GB10 (see its profile for the sources).
UTILIZATION_PERCENT, CLOCK_MHZ, POWER_WATTS, HOT_CELSIUS = 90.0, 1400.0, 40.0, 86.0
LOAD_PERCENT = 80.0
#: A stuck contract has to last: the first seconds of a run look the same.
LAST_SECONDS = 30.0
#: A clock has fallen by heat when it is this much below what the same series reached under load.
FALLEN_SHARE = 0.85
THERMAL = ("sw_thermal_slowdown", "hw_thermal_slowdown")


def check_series(series: Series, platform: Platform) -> Iterator[Finding]:
    """At most one finding; its evidence is the places of the samples that show it, as text."""
    loaded = tuple(sample for sample in series if (sample.utilization_gpu_percent or 0.0) >= LOAD_PERCENT)
    stuck = _stuck(loaded, platform)
    if stuck:
        yield stuck
        return
    thermal = [sample for sample in series if any(reason in THERMAL for reason in sample.event_reasons_active or ())]
    if thermal:
        text = (
            f"{thermal[0].event_reasons_active or ()} active" if len(thermal) == 1 else "a thermal slowdown is active"
        )
        yield Finding("G4.thermal-slowdown", WARN, text, _places(thermal))
        return
    fallen = _fallen(loaded, platform)
    if fallen:
        yield fallen


def _stuck(loaded: Series, platform: Platform) -> Finding | None:
    """Busy, slow, cool, nothing holding it back: to the end of the series."""
    least, clock, watts = (
        platform.profile.threshold(name) or default
        for name, default in (
            ("stuck_utilization_percent", UTILIZATION_PERCENT),
            ("stuck_clock_mhz", CLOCK_MHZ),
            ("stuck_power_watts", POWER_WATTS),
        )
    )

    def looks(sample: Sample) -> bool:
        busy = (sample.utilization_gpu_percent or 0.0) >= least
        slow = sample.clock_sm_mhz is not None and 0 < sample.clock_sm_mhz < clock
        weak = sample.power_watts is None or sample.power_watts < watts
        cool = sample.temperature_celsius is None or sample.temperature_celsius < HOT_CELSIUS
        return busy and slow and weak and cool and not sample.event_reasons_active

    tail: list[Sample] = []
    for sample in reversed(loaded):
        if not looks(sample):
            break
        tail.insert(0, sample)
    if not tail:
        return None
    seconds = span_seconds(tuple(tail))
    proven = seconds is not None and seconds >= LAST_SECONDS and all(s.power_watts is not None for s in tail)
    last = tail[-1]
    power = "" if last.power_watts is None else f", {last.power_watts:g} W"
    text = f"{last.utilization_gpu_percent:g} % busy at {last.clock_sm_mhz:g} MHz{power}: a stuck power contract"
    if proven:
        return Finding("G4.stuck-power-contract", FAIL, f"{text} for {seconds:.0f} s", _places(tail), HIGH)
    return Finding("G4.looks-stuck", WARN, f"{text}?", _places(tail), MEDIUM)


def _fallen(loaded: Series, platform: Platform) -> Finding | None:
    """Clocks that fell while the temperature sat at the onset of slowdown."""
    hot = platform.profile.threshold("hot_celsius") or HOT_CELSIUS
    clocks = [sample for sample in loaded if sample.clock_sm_mhz is not None]
    if len(clocks) < 2:
        return None
    best = max(sample.clock_sm_mhz or 0.0 for sample in clocks)
    slow = [
        sample
        for sample in clocks
        if (sample.temperature_celsius or 0.0) >= hot and (sample.clock_sm_mhz or 0.0) < FALLEN_SHARE * best
    ]
    if not slow:
        return None
    last = slow[-1]
    text = f"the clock fell from {best:g} to {last.clock_sm_mhz:g} MHz at {last.temperature_celsius:g} C"
    return Finding("G4.hot-and-slow", WARN, text, _places(slow), MEDIUM)


def _places(samples: list[Sample]) -> tuple[str, ...]:
    """The first and the last few places."""
    chosen = samples if len(samples) <= 6 else [*samples[:2], *samples[-4:]]
    return tuple(str(sample.place) for sample in chosen)
