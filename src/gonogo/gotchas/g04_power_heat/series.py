"""G4 over time: a stuck power contract, heat that slows the GPU down, or neither. Never by watts alone.

A recording of temperature and power alone can only raise a suspicion: it lacks the clock and the load.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from gonogo.finding import FAIL, HIGH, INFO, LOW, MEDIUM, UNKNOWN, WARN, Finding
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
#: What holds a clock down for a reason of its own. A power cap is none: on GB10 it is active at any full load.
HELD = (*THERMAL, "hw_slowdown", "hw_power_brake_slowdown", "applications_clocks_setting", "gpu_idle")

#: Temperature and power alone: a lower plateau of power holds this long, at this share of the one before, well above
#: rest, while the temperature stays this near to its maximum.
SETTLED_SECONDS, PLATEAU_SECONDS, SETTLED_SHARES = 60.0, 30.0, (0.50, 0.75)
LEVEL_SHARE, IDLE_WATTS, NEAR_CELSIUS = 0.10, 20.0, 3.0
#: A full load of GB10, which the first claim called throttling.
FULL_LOAD_WATTS = (80.0, 105.0)
COLUMNS = "nvidia-smi --query-gpu=timestamp,utilization.gpu,clocks.sm,power.draw,temperature.gpu --format=csv -l 5"


def check_series(series: Series, platform: Platform) -> Iterator[Finding]:
    """At most one finding, WARN or FAIL; its evidence is the places of the samples that show it, as text."""
    loaded = tuple(sample for sample in series if (sample.utilization_gpu_percent or 0.0) >= LOAD_PERCENT)
    found = (
        _stuck(loaded, platform)
        or _slowed(series, platform)
        or _fallen(loaded, platform)
        or _settled_lower(_pairs(series))
    )
    if found:
        yield found


def remark(series: Series, platform: Platform) -> Finding | None:
    """What a series without a finding can be told to have shown: INFO or UNKNOWN. None: a load without a fault."""
    pairs = _pairs(series)
    if pairs and len(pairs) == len(series):
        tail = _settled(pairs)
        level = median(sample.power_watts or 0.0 for sample in tail) if tail else 0.0
        if FULL_LOAD_WATTS[0] <= level <= FULL_LOAD_WATTS[1] and _span(tail) >= SETTLED_SECONDS:
            text = f"a flat {level:.0f} W: healthy by measurements, throttling by the first claim"
            return Finding("G4.reading", INFO, text, _places(tail))
        return Finding("G4.unknown", UNKNOWN, f"temperature and power alone do not tell: record {COLUMNS}")
    busy = [sample for sample in series if sample.utilization_gpu_percent is not None]
    if not any((sample.utilization_gpu_percent or 0.0) >= LOAD_PERCENT for sample in busy):
        return Finding("G4.unknown", UNKNOWN, "not under load" if busy else "no sample names the utilisation")
    return None


# -- with clock and load ----------------------------------------------------------------------------------------------


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
        return busy and slow and weak and cool and not any(name in HELD for name in sample.event_reasons_active or ())

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


def _slowed(series: Series, platform: Platform) -> Finding | None:
    """A slowdown that a sample shows as active: by heat, by the power brake, or by what it does not say."""
    values = {"spark": ""} if platform.is_spark else {"card": ""}
    for code, names in (
        ("G4.thermal-slowdown", THERMAL),
        ("G4.power-brake", ("hw_power_brake_slowdown",)),
        ("G4.hw-slowdown", ("hw_slowdown",)),
    ):
        hit = [sample for sample in series if any(name in names for name in sample.event_reasons_active or ())]
        if hit:
            reason = next(name for name in hit[-1].event_reasons_active or () if name in names)
            text = f"{reason} is active{_reading(hit[-1])}"
            return Finding(code, WARN, text, _places(hit), HIGH, values=values)
    return None


def _reading(sample: Sample) -> str:
    figures = [
        f"{figure:g} {unit}"
        for figure, unit in (
            (sample.temperature_celsius, "C"),
            (sample.clock_sm_mhz, "MHz"),
            (sample.power_watts, "W"),
        )
        if figure is not None
    ]
    return f" at {', '.join(figures)}" if figures else ""


def _fallen(loaded: Series, platform: Platform) -> Finding | None:
    """Clocks that fell while the temperature sat at the onset of slowdown."""
    hot = platform.profile.threshold("hot_celsius") or HOT_CELSIUS
    clocks = [sample for sample in loaded if sample.clock_sm_mhz is not None]
    best = max((sample.clock_sm_mhz or 0.0 for sample in clocks), default=0.0)
    slow = [
        sample
        for sample in clocks
        if (sample.temperature_celsius or 0.0) >= hot and (sample.clock_sm_mhz or 0.0) < FALLEN_SHARE * best
    ]
    if not slow:
        return None
    last = slow[-1]
    text = f"the clock fell from {best:g} to {last.clock_sm_mhz:g} MHz at {last.temperature_celsius:g} C"
    values = {"spark": ""} if platform.is_spark else {}
    return Finding("G4.hot-and-slow", WARN, text, _places(slow), MEDIUM, values=values)


# -- temperature and power alone --------------------------------------------------------------------------------------


def _pairs(series: Series) -> list[Sample]:
    """The samples that hold a time, a temperature and a power, and neither clock nor load."""
    return [
        sample
        for sample in series
        if sample.seconds is not None
        and sample.temperature_celsius is not None
        and sample.power_watts is not None
        and sample.clock_sm_mhz is None
        and sample.utilization_gpu_percent is None
    ]


def _settled_lower(pairs: list[Sample]) -> Finding | None:
    """Power settled well below what it was before, while the temperature stayed high."""
    tail = _settled(pairs)
    before = pairs[: len(pairs) - len(tail)]
    level, earlier = median([s.power_watts or 0.0 for s in tail] or [0.0]), _plateau(before)
    least, most = SETTLED_SHARES
    if _span(tail) < SETTLED_SECONDS or level < IDLE_WATTS or not least * earlier <= level <= most * earlier:
        return None
    temperatures = [sample.temperature_celsius or 0.0 for sample in tail]
    hottest = max(sample.temperature_celsius or 0.0 for sample in pairs)
    if min(temperatures) < hottest - NEAR_CELSIUS and not temperatures[-1] > temperatures[0]:
        return None
    text = (
        f"power settled at {level:.0f} W after {earlier:.0f} W while the temperature stayed at {temperatures[-1]:g} C: "
        f"looks like throttling, clock and utilisation are the missing proof"
    )
    return Finding("G4.falling-power", WARN, text, _places(tail), LOW)


def _settled(pairs: list[Sample]) -> list[Sample]:
    """The end of the recording, as far back as its power stays within LEVEL_SHARE of its last minute."""
    if not pairs:
        return []
    end = pairs[-1].seconds or 0.0
    level = median(s.power_watts or 0.0 for s in pairs if end - (s.seconds or 0.0) <= SETTLED_SECONDS)
    first = len(pairs)
    while first and abs((pairs[first - 1].power_watts or 0.0) - level) <= LEVEL_SHARE * level:
        first -= 1
    return pairs[first:]


def _plateau(pairs: list[Sample]) -> float:
    """The highest power, in W, that was kept for PLATEAU_SECONDS, within LEVEL_SHARE below it."""
    best, first = 0.0, 0
    for last in range(len(pairs)):
        while _span(pairs[first + 1 : last + 1]) >= PLATEAU_SECONDS:
            first += 1
        window = pairs[first : last + 1]
        if _span(window) >= PLATEAU_SECONDS:
            powers = [sample.power_watts or 0.0 for sample in window]
            if min(powers) >= (1 - 2 * LEVEL_SHARE) * max(powers):
                best = max(best, median(powers))
    return best


def _span(samples: list[Sample]) -> float:
    return (samples[-1].seconds or 0.0) - (samples[0].seconds or 0.0) if len(samples) >= 2 else 0.0


def _places(samples: list[Sample]) -> tuple[str, ...]:
    """The first and the last few places."""
    chosen = samples if len(samples) <= 6 else [*samples[:2], *samples[-4:]]
    return tuple(str(sample.place) for sample in chosen)
