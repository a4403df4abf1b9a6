"""The ends of the pipes: standard streams that are full, closed or gone, and outputs that cannot be written.

A script reads the exit status, so an interpreter that ends with 120 (a flush that failed at exit) or 1 (a traceback,
which a script takes for no-go) is as wrong as a wrong verdict.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusal import refused

FULL = Path("/dev/full")

needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")


@pytest.mark.parametrize("target", ["nowhere/result.json", ".", "/", "x" * 300, ""])
@pytest.mark.parametrize("verb", [("check",), ("list",), ("explain", "G1"), ("schema", "check"), ("record",)])
def test_output_that_cannot_be_written(gonogo: Callable[..., Any], verb: tuple[str, ...], target: str) -> None:
    refused(gonogo(*verb, "--output", target), "cannot write")


@needs_full
def test_output_to_a_full_device(gonogo: Callable[..., Any]) -> None:
    refused(gonogo("check", "--output", str(FULL)), "No space left")


@needs_full
@pytest.mark.parametrize(
    "arguments", [("check",), ("list",), ("explain", "G1"), ("schema",), ("record",), ("--help",), ("--version",)]
)
def test_standard_output_is_full(gonogo: Callable[..., Any], arguments: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        completed = gonogo(*arguments, stdout=full, stderr=subprocess.PIPE)
    assert completed.returncode == 2
    assert re.fullmatch(r"gonogo[^\n]*: No space left on device\n", completed.stderr)


@pytest.mark.parametrize("closed", [">&-", ">&- <&-", "<&-"])
@pytest.mark.parametrize("arguments", [("check", "--facts", "-"), ("list",), ("--version",), ("--help",)])
def test_standard_streams_that_are_closed(gonogo: Callable[..., Any], arguments: tuple[str, ...], closed: str) -> None:
    # cron, some service managers and `>&-` start a program without them: Python's sys.stdin and sys.stdout are None.
    completed = gonogo(*arguments, shell=f'exec "$@" {closed}')
    if closed == "<&-" and arguments[0] != "check":
        assert completed.returncode == 0
    else:
        refused(completed)


def test_standard_error_that_is_closed(gonogo: Callable[..., Any]) -> None:
    assert gonogo("check", "--nonsense", shell='exec "$@" 2>&-').returncode == 2
    assert gonogo("list", shell='exec "$@" 2>&-').returncode == 0


@pytest.mark.parametrize("closed", ["<&- >&-", "<&- >&- 2>&-", ">&- 2>&-"])
def test_closed_streams_cost_no_facts(gonogo: Callable[..., Any], tmp_path: Path, closed: str) -> None:
    # The pipes of the collectors then get the numbers 0, 1 and 2, which their children must not point elsewhere.
    ordinary = gonogo("check", "--format", "json")
    target = tmp_path / "result.json"
    completed = gonogo("check", "--format", "json", "--output", str(target), shell=f'exec "$@" {closed}')
    assert "Traceback" not in completed.stderr
    assert completed.returncode == ordinary.returncode
    assert _codes(target.read_text()) == _codes(ordinary.stdout)


def _codes(text: str) -> list[tuple[str, str]]:
    return [(finding["code"], finding["status"]) for finding in json.loads(text)["findings"]]


# -- a reader that leaves ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("list",), ("explain", "G1"), ("schema", "check"), ("record",), ("--help",)])
def test_a_reader_that_has_gone_is_no_failure(gonogo: Callable[..., Any], arguments: tuple[str, ...]) -> None:
    # What `| head -0` does, without its race: the reading end is closed before anything is written.
    completed = _into_closed_pipe(gonogo, *arguments)
    assert completed.stderr == ""
    assert completed.returncode == 0


@pytest.mark.parametrize(("document", "status"), [("go", 0), ("no-go", 1)])
def test_a_reader_that_has_gone_turns_no_verdict(
    gonogo: Callable[..., Any],
    spark: Callable[..., Any],
    written: Callable[..., str],
    document: str,
    status: int,
) -> None:
    # `set -o pipefail; gonogo check | head -1 && train` must not start the training on a no-go.
    facts = spark() if document == "go" else spark(gpu={"devices": []})
    completed = _into_closed_pipe(gonogo, "check", "--format", "plain", "--facts", written(facts))
    assert re.fullmatch(r"judged environment: [^\n]*\n", completed.stderr)
    assert completed.returncode == status


def _into_closed_pipe(gonogo: Callable[..., Any], *arguments: str) -> Any:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return gonogo(*arguments, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
