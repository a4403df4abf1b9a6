"""A file read in parts gives what one reading gives: the sequential reader is the oracle, grep -n for line numbers."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
from pathlib import Path

import pytest

from gonogo.diagnosis import Outcome, Reader, parallel

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork a file is read in one part"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]

OOM = (
    "(EngineCore pid=253) ValueError: Free memory on device cuda:0 (85.92/121.69 GiB) on startup is less than desired "
)
OOM += "GPU memory utilization (0.92, 111.95 GiB)."
ECHO = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "LARGE_BYTES", 1000)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)


def log(folder: Path, *lines: tuple[int, str], length: int = 3000) -> Path:
    """A log of healthy lines, with ``lines`` at the numbers given (from 1)."""
    random.seed(3)
    rows = [f"step {number} loss {random.random():.4f}" for number in range(1, length + 1)]
    for number, text in lines:
        rows[number - 1] = text
    path = folder / "train.log"
    path.write_text("\n".join(rows))  # no newline at its end
    return path


def in_parts(path: Path) -> tuple[Outcome, Reader]:
    parts = parallel.parts_of(path)
    assert len(parts) == 3
    reader = Reader()
    reader.read_in_parts("train.log", path, parts)
    return reader.outcome(), reader


@pytest.mark.parametrize("lines", [(), ((1, OOM),), ((3000, OOM),), ((1, ECHO), (1500, OOM), (2999, ECHO))])
def test_the_same_as_in_one_part(tmp_path: Path, lines: tuple[tuple[int, str], ...]) -> None:
    path = log(tmp_path, *lines)
    outcome, reader = in_parts(path)
    whole = Reader()
    whole.read("train.log", [path.read_bytes()])
    assert outcome == whole.outcome()
    assert (reader.bytes_read, reader.lines_read) == (path.stat().st_size, 3000) == (whole.bytes_read, whole.lines_read)


def test_lines_are_numbered_as_grep_does(tmp_path: Path) -> None:
    path = log(tmp_path, *((number, OOM) for number in (7, 1400, 2900)))
    outcome, _ = in_parts(path)
    listed = subprocess.run(["grep", "-n", "Free memory", path], capture_output=True, text=True, check=True).stdout
    numbers = {int(line.partition(":")[0]) for line in listed.splitlines()}
    assert {row.line for item in outcome.diagnoses for row in item.evidence} <= numbers
    assert outcome.diagnoses[0].evidence[0].line == 7


def test_parts_end_at_line_ends_and_leave_nothing_out(tmp_path: Path) -> None:
    path = log(tmp_path)
    parts = parallel.parts_of(path)
    content = path.read_bytes()
    assert parts[0].start == 0 and parts[-1].end == len(content)
    for before, after in itertools.pairwise(parts):
        assert before.end == after.start and content[after.start - 1 : after.start] == b"\n"
    assert b"".join(block for part in parts for block in parallel.blocks_of(path, part)) == content


def test_what_cannot_be_cut_up_is_read_in_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").write_bytes(b"x" * 5000)
    assert parallel.parts_of(tmp_path / "one") == [parallel.Part(0, 5000)]
    path = log(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert len(parallel.parts_of(path)) == 1
    os.mkfifo(tmp_path / "fifo")
    assert len(parallel.parts_of(tmp_path / "fifo")) == 1


def test_a_child_that_dies_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log(tmp_path, (1, OOM))
    parts = parallel.parts_of(path)
    monkeypatch.setattr(parallel.Child, "_scan", lambda *_: os._exit(3))
    reader = Reader()
    with pytest.raises(OSError, match="ended early"):
        reader.read_in_parts("train.log", path, parts)
    # What the first part gave is kept.
    assert reader.outcome().diagnoses[0].gotcha == "G3"
