"""G4 over time. The figures are published ones or worked out by hand; what each series must come to is GOTCHAS.md."""

from __future__ import annotations

import pytest

from gonogo import catalogue
from gonogo.finding import FAIL, INFO, UNKNOWN, WARN, Finding
from gonogo.gotchas.g04_power_heat.series import check_series, remark
from gonogo.platforms.identify import GENERIC, Platform
from gonogo.preflight import judge_series
from gonogo.telemetry.series import Sample, Series

SPARK = Platform(catalogue.profiles()["gb10"])
OTHER = Platform(GENERIC)


def samples(*rows: tuple[float | None, ...], every: float | None = 5.0) -> Series:
    """Utilisation, clock, power and temperature of each, ``every`` so many seconds."""
    return tuple(
        Sample(None if every is None else place * every, *row[:4], place=place) for place, row in enumerate(rows)
    )


def told(series: Series, platform: Platform = SPARK) -> Finding | None:
    found = list(check_series(series, platform))
    assert len(found) <= 1
    return found[0] if found else None


# -- a stuck power contract -------------------------------------------------------------------------------------------

STUCK = (96.0, 799.0, 19.5, 47.0)  # medians of model-serving-minefield, trap 124
HEALTHY = (96.0, 2281.0, 92.5, 79.0)  # the same unit after its plug was pulled


def test_stuck_for_half_a_minute_is_proven() -> None:
    found = told(samples(*[STUCK] * 7))  # 30 s
    assert found is not None
    assert (found.code, found.status, found.confidence) == ("G4.stuck-power-contract", FAIL, "high")
    assert "799 MHz" in found.message and "30 s" in found.message


@pytest.mark.parametrize(
    "series",
    [
        samples(*[STUCK] * 6),  # 25 s
        samples(STUCK),
        samples(*[STUCK] * 9, every=None),
        samples((96.0, 695.0, None, None), (96.0, 695.0, None, None)),  # hasso5703/dgx-spark-qwen38#8: no watts
    ],
)
def test_less_is_a_suspicion(series: Series) -> None:
    found = told(series)
    assert found is not None
    assert (found.code, found.status, found.confidence) == ("G4.looks-stuck", WARN, "medium")


@pytest.mark.parametrize(
    "row",
    [
        HEALTHY,
        (96.0, 2190.0, 60.0, 70.0),
        (96.0, 2200.0, 32.0, 62.0),  # decode of a memory-bound model: few watts, normal clock
        (60.0, 611.0, 12.0, 45.0),  # not under load
        (0.0, 208.0, 4.5, 36.0),  # at rest
        (96.0, 1380.0, 78.0, 70.0),  # slow and drawing power
    ],
)
def test_not_stuck(row: tuple[float, ...]) -> None:
    assert told(samples(*[row] * 20)) is None


def test_the_first_seconds_of_a_run_are_no_fault() -> None:
    assert told(samples(STUCK, STUCK, *[HEALTHY] * 10)) is None


def test_rest_after_it_changes_nothing() -> None:
    found = told(samples(*[STUCK] * 7, (0.0, 208.0, 4.5, 40.0), (3.0, 300.0, 5.0, 39.0)))
    assert found is not None and found.code == "G4.stuck-power-contract"


@pytest.mark.parametrize(
    ("reasons", "code"),
    [
        ((), "G4.stuck-power-contract"),
        (("sw_power_cap",), "G4.stuck-power-contract"),  # normal at any full load of GB10, and no reason for 800 MHz
        (("applications_clocks_setting",), None),
        (("sw_thermal_slowdown",), "G4.thermal-slowdown"),
        (("hw_power_brake_slowdown",), "G4.power-brake"),
        (("hw_slowdown",), "G4.hw-slowdown"),
    ],
)
def test_a_clock_that_something_holds_down_is_not_stuck(reasons: tuple[str, ...], code: str | None) -> None:
    found = told(tuple(item._replace(event_reasons_active=reasons) for item in samples(*[STUCK] * 9)))
    assert (found.code if found else None) == code


# -- heat -------------------------------------------------------------------------------------------------------------


def test_the_onset_of_slowdown() -> None:
    # forum 377044: 2411 to 2190 MHz is 9 %: within what boost does by itself.
    assert told(samples((96.0, 2411.0, 90.0, 80.0), (96.0, 2190.0, 85.0, 90.0))) is None
    found = told(samples((96.0, 2411.0, 90.0, 80.0), (96.0, 1900.0, 70.0, 88.0)))
    assert found is not None
    assert (found.code, found.status) == ("G4.hot-and-slow", WARN)
    assert [item.place for item in samples(HEALTHY, HEALTHY)][1:] == [int(place) for place in found.evidence]


def test_a_clock_that_fell_while_cool_is_no_heat() -> None:
    assert told(samples((96.0, 2411.0, 90.0, 80.0), (96.0, 1900.0, 50.0, 70.0))) is None


def test_86_degrees_alone_are_within_specification() -> None:
    assert told(samples(*[(96.0, 2300.0, 95.0, 86.0)] * 30)) is None  # forum 349647


def test_an_active_reason_names_itself_and_the_remedy_fits_the_machine() -> None:
    hot = samples((96.0, 2190.0, 85.0, 90.0))[0]._replace(event_reasons_active=("sw_power_cap", "sw_thermal_slowdown"))
    found = told((hot,))
    assert found is not None
    assert found.message == "sw_thermal_slowdown is active at 90 C, 2190 MHz, 85 W"
    assert any("-lgc 300,2200" in step.step for step in judge_series((hot,), SPARK)[0].fix)
    assert not any("-lgc" in step.step for step in judge_series((hot,), OTHER)[0].fix)


# -- temperature and power alone --------------------------------------------------------------------------------------


def pairs(*levels: tuple[int, float, float], every: float = 5.0) -> Series:
    """So many samples of a power and a temperature, nothing else."""
    rows = [(watts, celsius) for count, watts, celsius in levels for _ in range(count)]
    return tuple(
        Sample(place * every, power_watts=watts, temperature_celsius=celsius, place=place)
        for place, (watts, celsius) in enumerate(rows)
    )


def test_power_that_settles_lower_while_hot_is_a_suspicion() -> None:
    # 60 W of 95 W is 63 %: between 50 and 75; 13 samples of 5 s span 60 s.
    found = told(pairs((20, 95, 82), (13, 60, 84)))
    assert found is not None
    assert (found.code, found.status, found.confidence) == ("G4.falling-power", WARN, "low")
    assert "60 W after 95 W" in found.message


@pytest.mark.parametrize(
    "series",
    [
        pairs((20, 95, 82), (12, 60, 84)),  # 55 s
        pairs((20, 95, 82), (13, 80, 84)),  # 84 %
        pairs((20, 95, 82), (13, 40, 84)),  # 42 %: the job got lighter
        pairs((20, 95, 82), (13, 60, 70)),  # it cooled down
        pairs((20, 30, 60), (13, 16, 60)),  # rest
        pairs((33, 95, 84)),
        pairs((2, 95, 82), (13, 60, 84)),  # no plateau before it
        (),
    ],
)
def test_nothing_to_suspect(series: Series) -> None:
    assert told(series) is None


def test_what_two_columns_can_be_told_to_show() -> None:
    flat = remark(pairs((20, 95, 84)), SPARK)
    assert flat is not None and flat.status == INFO
    assert "healthy by measurements, throttling by the first claim" in flat.message
    light = remark(pairs((20, 30, 60)), SPARK)
    assert light is not None and light.status == UNKNOWN
    assert "utilization.gpu" in light.message  # the command that adds the columns


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (samples((0.0, 208.0, 4.5, 36.0)), "not under load"),
        (samples((79.0, 2200.0, 40.0, 60.0)), "not under load"),
        (samples((None, 2200.0, 40.0, 60.0)), "no sample names the utilisation"),
        (samples((80.0, 2200.0, 40.0, 60.0)), None),
    ],
)
def test_without_load_the_answer_is_unknown(series: Series, expected: str | None) -> None:
    found = remark(series, SPARK)
    assert (found.message if found else None) == expected


@pytest.mark.parametrize("platform", [SPARK, OTHER])
def test_an_empty_series(platform: Platform) -> None:
    assert told((), platform) is None
    assert remark((), platform) is not None
