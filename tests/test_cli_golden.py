"""Each format, byte for byte, from one machine: a Spark with one FAIL, one WARN and several INFO.

After a change that was meant: ``GONOGO_RENEW_GOLDEN=1 .venv/bin/pytest -n0 tests/test_cli_golden.py`` writes the files
anew; read the difference before it is kept. Only the duration of the run is normalised.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"
FACTS = str(GOLDEN / "facts.json")
RENEW = bool(os.environ.get("GONOGO_RENEW_GOLDEN"))

CASES = {
    "text": ("check", "--facts", FACTS),
    "text-verbose": ("check", "--facts", FACTS, "-v"),
    "plain": ("check", "--facts", FACTS, "--format", "plain"),
    "plain-verbose": ("check", "--facts", FACTS, "--format", "plain", "-v"),
    "json": ("check", "--facts", FACTS, "--format", "json"),
    "env-report": ("check", "--facts", FACTS, "--format", "env-report"),
    "explain-G1": ("explain", "G1"),
    "list": ("list",),
}


def normalised(text: str) -> str:
    text = re.sub(r'("duration_seconds": )[0-9.e-]+', r"\g<1>0.0", text)
    return re.sub(r"^(  in all) +[0-9.]+ ms$", r"\g<1>          0.0 ms", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", CASES)
def test_golden(gonogo: Callable[..., Any], name: str) -> None:
    completed = gonogo(*CASES[name])
    assert completed.returncode == (1 if CASES[name][0] == "check" else 0), completed.stderr
    path = GOLDEN / f"{name}.txt"
    if RENEW:
        path.write_text(normalised(completed.stdout), encoding="utf-8")
    assert normalised(completed.stdout) == path.read_text(encoding="utf-8")


def test_the_machine_is_worth_a_golden_file(gonogo: Callable[..., Any]) -> None:
    # One FAIL and one WARN, so that every part of a format has something to show.
    findings = json.loads(gonogo(*CASES["json"]).stdout)["findings"]
    statuses = Counter(item["status"] for item in findings)
    assert (statuses["FAIL"], statuses["WARN"]) == (1, 1)
    assert statuses["INFO"] >= 3
    assert statuses["PASS"] >= 1


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(CASES)
