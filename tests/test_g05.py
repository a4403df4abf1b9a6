"""G5: a stored figure is judged only where it still speaks for this machine. Bands: GB10 figures, section 6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gonogo import catalogue
from gonogo.finding import Finding
from gonogo.node.facts.codec import decode
from gonogo.preflight import Request, judge
from gonogo.selection import Selection

ONLY = Selection(("G5",))
RUN = {
    "kind": "copy",
    "median_gb_per_s": 220.0,
    "measured_at": "2026-11-29T20:00:00Z",
    "device": "NVIDIA GB10",
    "driver_version": "580.95.05",
    "idle": True,
}


@pytest.fixture
def judged(spark: Callable[..., Any]) -> Callable[..., Finding]:
    def one(platform: str | None = None, when: str = "2026-11-30T12:00:00Z", **run: Any) -> Finding:
        document = spark(measurements={"bandwidth": [{**RUN, **run}]})
        (found,) = judge(decode({**document, "collected_at": when}), Request(platform, selection=ONLY)).findings
        return found

    return one


@pytest.mark.parametrize(
    ("median", "status"),
    # 215 is the lower end: 80 % of it are 172, 50 % are 107.5.
    [(226, "INFO"), (172.1, "INFO"), (171.9, "WARN"), (107.6, "WARN"), (107.4, "FAIL"), (274, "INFO")],
)
def test_limits_of_a_copy(judged: Callable[..., Finding], median: float, status: str) -> None:
    assert judged(median_gb_per_s=median).status == status


@pytest.mark.parametrize(("median", "status"), [(184.9, "INFO"), (184.7, "WARN"), (115.4, "FAIL")])
def test_limits_of_a_read(judged: Callable[..., Finding], median: float, status: str) -> None:
    # 231: 184.8 and 115.5.
    assert judged(kind="read", median_gb_per_s=median).status == status


@pytest.mark.parametrize(
    "change",
    [
        {"idle": False},
        {"idle": {"missing": "not_collected"}},
        {"driver_version": "580.126.09"},
        {"measured_at": "2026-10-01T00:00:00Z"},
        {"measured_at": "yesterday"},
        {"when": ""},
    ],
    ids=str,
)
def test_a_busy_or_changed_machine_is_not_judged(judged: Callable[..., Finding], change: dict[str, Any]) -> None:
    assert judged(median_gb_per_s=100, **change).code == "G5.measured-low"


def test_another_gpu_is_not_judged(judged: Callable[..., Finding]) -> None:
    other = judged(device="NVIDIA GeForce RTX 5090", median_gb_per_s=1.0)
    assert (other.status, other.message) == (
        "SKIP",
        "not measured on this GPU; expect copy 215 to 226, read 231 to 235 of 273 GB/s",
    )
    assert judged("h200", median_gb_per_s=1.0).status == "SKIP"


@pytest.mark.parametrize("median", [0.0, -5.0, 1e9])
def test_a_figure_that_is_none(judged: Callable[..., Finding], median: float) -> None:
    assert judged(median_gb_per_s=median).status == "UNKNOWN"


def test_bands_say_where_they_are_from() -> None:
    profiles = catalogue.data()["platforms"]
    rows = [row for entry in profiles.values() for row in entry.get("bandwidth_gb_per_s", {}).values()]
    assert rows and all(row["source"].strip() and 0 < row["low"] < row["high"] for row in rows)
