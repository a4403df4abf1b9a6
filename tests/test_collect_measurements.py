"""Stored measurements: expected values are those that the file was written with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_host import host, reason

from gonogo.node.collect import measurements
from gonogo.node.facts.missing import FAILED, NOT_FOUND, UNCOLLECTED
from gonogo.node.facts.sections.measurements import Bandwidth, Measurements

RUN = {
    "kind": "copy",
    "median_gb_per_s": 219.6,
    "measured_at": "2026-11-29T20:00:00Z",
    "device": "NVIDIA GB10",
    "driver_version": "580.159.03",
    "spread_percent": 4,
    "bytes_moved": 8589934592,
    "idle": True,
}
PLACE = "/home/u/.local/state/gonogo/bandwidth.json"


def document(*runs: Any, **changes: Any) -> str:
    return json.dumps({"schema": "gonogo/bandwidth", "schema_version": 1, "runs": list(runs), **changes})


def collected(tmp_path: Path, text: str, place: str = PLACE, **environment: str) -> Any:
    return measurements.collect(host(tmp_path, {place: text}, environment={"HOME": "/home/u", **environment}))


def test_the_last_run_of_each_kind_counts(tmp_path: Path) -> None:
    older = {**RUN, "median_gb_per_s": 100}
    read = {**RUN, "kind": "read", "median_gb_per_s": 232}
    found = collected(tmp_path, document(older, read, RUN, {**RUN, "kind": "write"}))
    assert found == Measurements((Bandwidth(**RUN), Bandwidth(**read)))  # type: ignore[arg-type]


def test_the_state_folder_of_the_user(tmp_path: Path) -> None:
    place = "/state/gonogo/bandwidth.json"
    assert collected(tmp_path, document(RUN), place, XDG_STATE_HOME="/state/").bandwidth[0].kind == "copy"
    # A relative XDG folder is to be ignored (XDG base directory specification).
    assert reason(collected(tmp_path / "a", document(RUN), place, XDG_STATE_HOME="state")) == NOT_FOUND
    assert reason(measurements.collect(host(tmp_path))) == NOT_FOUND


def test_optional_members_may_lack_or_be_of_the_wrong_kind(tmp_path: Path) -> None:
    needed = {name: RUN[name] for name in ("kind", "median_gb_per_s", "measured_at", "device")}
    run = collected(tmp_path, document({**needed, "idle": "yes", "bytes_moved": 1.5})).bandwidth[0]
    assert (run.idle, run.bytes_moved, run.driver_version) == (UNCOLLECTED, UNCOLLECTED, UNCOLLECTED)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "5", "[" * 100_000, "\x00\x01", document({}), document(5), document(RUN, runs=5)),
        *(document(RUN, schema_version=2), document(RUN, schema="other"), document({**RUN, "median_gb_per_s": "x"})),
    ],
    ids=lambda text: text[:30],
)
def test_a_file_that_is_none_is_a_failed_fact(tmp_path: Path, text: str) -> None:
    assert reason(collected(tmp_path, text)) == FAILED
