"""Public failure reports: what a person answered there is what gonogo says.

``reports/recorded.toml`` holds one table a report, the other files one report each: ``source``, ``expect`` (numbers of
gotchas that are right as the first diagnosis; none: nothing may be diagnosed), ``input`` (program output as printed).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gonogo import diagnosis

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "reports"
#: Reports whose text alone does not tell: a person had more to go by. Each with what is missing.
OPEN = {
    "h057": "prose about another server beside it; no program's output",
}


def _load() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        found.update(data if path.stem == "recorded" else {path.stem: data})
    return found


REPORTS = _load()


def test_there_are_reports_of_every_kind() -> None:
    first = {report["expect"][0] for report in REPORTS.values() if report["expect"]}
    assert first == {f"G{number}" for number in range(1, 22)}
    assert sum(not report["expect"] for report in REPORTS.values()) >= 29


@pytest.mark.parametrize("name", REPORTS)
def test_the_answer_is_right(name: str) -> None:
    report = REPORTS[name]
    assert set(report) <= {"about", "source", "expect", "input"} and report["source"].strip()
    found = [item.gotcha for item in diagnosis.of_text(report["input"]).diagnoses]
    if name in OPEN:
        assert not found or found[0] in report["expect"]  # silence, never a wrong answer
    elif report["expect"]:
        assert found and found[0] in report["expect"], found
    else:
        assert not found
