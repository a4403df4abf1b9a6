"""Every signature finds what it is for, passes its look-alikes by, and is written in linear-time syntax."""

from __future__ import annotations

from typing import Any

import pytest
import re2

from gonogo import catalogue_source, diagnosis
from gonogo.finding import CONFIDENCES
from gonogo.logs.signatures import KINDS, PLACES

ROWS = [
    pytest.param(gotcha, row, id=f"{gotcha}.{row['code']}-{number}")
    for gotcha, rows in catalogue_source.read_signatures().items()
    for number, row in enumerate(rows)
]
KEYS = {
    *("code", "pattern", "literals", "kind", "confidence", "weight", "device", "needs", "unless", "numbers", "text"),
    *("source", "positive", "look_alikes"),
}
CONDITION_KEYS = {"pattern", "literals", "place", "within"}


def codes(text: str) -> set[str]:
    outcome = diagnosis.of_text(text)
    return {item.code for item in outcome.diagnoses} | {note.code for note in outcome.notes}


@pytest.mark.parametrize(("gotcha", "row"), ROWS)
def test_a_row_is_whole(gotcha: str, row: dict[str, Any]) -> None:
    assert set(row) <= KEYS
    assert row["code"] in catalogue_source.read()["gotchas"][gotcha]["code"]
    assert row.get("kind", "cause") in KINDS
    assert row.get("confidence", "high") in CONFIDENCES
    assert row.get("device", "") in ("", "unified", "discrete")
    assert row["source"].strip() and row["positive"] and row["look_alikes"]
    for condition in (*row.get("needs", ()), *row.get("unless", ())):
        assert set(condition) <= CONDITION_KEYS
        assert condition.get("place", "anywhere") in PLACES


@pytest.mark.parametrize(("gotcha", "row"), ROWS)
def test_patterns_are_of_linear_time(gotcha: str, row: dict[str, Any]) -> None:
    # RE2 takes no expression that could need more.
    for part in (row, *row.get("needs", ()), *row.get("unless", ())):
        re2.compile(part["pattern"])


@pytest.mark.parametrize(("gotcha", "row"), ROWS)
def test_it_finds_what_it_is_for(gotcha: str, row: dict[str, Any]) -> None:
    for text in row["positive"]:
        assert f"{gotcha}.{row['code']}" in codes(text), text


@pytest.mark.parametrize(("gotcha", "row"), ROWS)
def test_it_passes_look_alikes_by(gotcha: str, row: dict[str, Any]) -> None:
    for text in row["look_alikes"]:
        assert f"{gotcha}.{row['code']}" not in codes(text), text
