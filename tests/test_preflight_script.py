"""The skill's preflight.sh: its grammar, its options, its exit status, and odd surroundings.

The machine that each test makes up is a ``Box``; what the script reads besides (memory, control group) is the tester's
own, so that these tests look at form alone where that shows. ``test_preflight_script_machines.py`` makes up the rest.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import NOBODY, running_as_root
from preflight_script import GB10, NO_DRIVER, SCRIPT, Box, refused, said


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "box")


# -- a machine with nothing on it -------------------------------------------------------------------------------------


def test_without_python_and_without_nvidia_smi(box: Box) -> None:
    completed = box.run()
    assert completed.returncode == 0
    lines = said(completed)
    assert lines["G1"] == ("SKIP", "no python3 here")
    assert lines["G4"] == lines["G7"] == ("SKIP", "no nvidia-smi here")
    for gotcha in ("G2", "G5", "G6", "G8"):
        assert lines[gotcha] == ("SKIP", f"not automated here: references/gotcha-checks.md, {gotcha}")
    assert lines["G10"].status == "SKIP"
    # Which environment was judged is said, and not among the ten lines.
    assert completed.stderr == "judged environment: none\n"


def test_memory_in_gib_with_one_decimal(box: Box) -> None:
    before, lines = available_kib(), box.lines()
    after = available_kib()
    assert lines["G3"].status == "INFO"
    label, unit, free, used = lines["G3"].message.split(" ")[:4]
    assert (label, unit) == ("free/used", "(GB):")
    # /proc/meminfo counts in KiB: 2**20 of them are a GiB. Other processes move it while we look.
    low, high = sorted((before / 2**20, after / 2**20))
    assert low - 0.5 <= float(free) <= high + 0.5
    assert float(free) + float(used) == pytest.approx(meminfo()["MemTotal"] / 2**20, abs=0.11)


def meminfo() -> dict[str, int]:
    rows = [line.split() for line in Path("/proc/meminfo").read_text().splitlines()]
    return {row[0].rstrip(":"): int(row[1]) for row in rows}


def available_kib() -> int:
    return meminfo()["MemAvailable"]


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [("--folder",), ("--strict", "--folder"), ("--no-such",), ("folder",), ("--folder=",), ("--folder", "")],
)
def test_a_wrong_call_is_one_line_and_exit_2(box: Box, arguments: tuple[str, ...]) -> None:
    refused(box.run(*arguments))


def test_a_folder_that_is_not_there_or_is_a_file(box: Box) -> None:
    assert "no/such" in refused(box.run("--folder", "no/such"))
    box.file("a.yaml", "")
    assert "a.yaml" in refused(box.run("--folder", "a.yaml"))


def test_help(box: Box) -> None:
    completed = box.run("--help")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "--strict" in completed.stdout and "--folder" in completed.stdout
    assert not any(line.startswith("#") for line in completed.stdout.splitlines())


@pytest.mark.parametrize("name", ["with spaces in it", "-dash", "--folder", "-", "~", "*", "$HOME", "über", "a'b\"c"])
def test_a_folder_of_any_name_is_read_and_named(box: Box, name: str) -> None:
    box.file(f"{name}/run.yaml", "tensor_parallel_size: 2\n")
    line = box.lines("--folder", name)["G10"]
    assert line.status == "WARN"
    assert "run.yaml" in line.message
    assert str(box.work / name) in line.message


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "bell\a\r"])
def test_a_folder_whose_name_holds_control_characters(box: Box, name: str) -> None:
    box.file(f"{name}/run.yaml", "tensor_parallel_size: 2\n")
    assert box.lines("--folder", name)["G10"].status == "WARN"  # the grammar is checked there
    assert box.lines(cwd=box.work / name)["G10"].status == "WARN"


# -- the exit status --------------------------------------------------------------------------------------------------

CANNOT_LOAD = "raise ImportError('libcudart.so.12: cannot open shared object file: No such file or directory')"


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("gpu", "torch", "wrong"),
    [
        ("answers", "works", False),
        ("answers", "none", False),
        ("answers", "fails", True),
        ("dead", "works", True),
        ("dead", "fails", True),
        ("hangs", "works", True),
        ("absent", "works", True),
        ("absent", "none", True),
        ("garbage", "works", True),
        ("garbage in columns", "works", True),
        ("error in columns", "works", True),
    ],
)
def test_strict_gives_the_verdict_and_otherwise_it_is_always_0(
    box: Box, strict: bool, gpu: str, torch: str, wrong: bool
) -> None:
    if torch != "none":
        box.torch(before=CANNOT_LOAD if torch == "fails" else "")
    outputs = {
        "answers": (GB10, 0),
        "dead": (NO_DRIVER, 9),
        "garbage": ("?\n", 0),
        "garbage in columns": ("one, two, three\n", 0),
        # nvidia-smi's words for a GPU that fell off the bus; some drivers end with status 0 after them.
        "error in columns": (
            "Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost, reboot, please, now\n",
            0,
        ),
    }
    if gpu == "hangs":
        box.program("nvidia-smi", "sleep 50")
        (box.bin / "sleep").symlink_to("/bin/sleep")
        box.quick(2)
    elif gpu in outputs:
        box.nvidia_smi(*outputs[gpu])
    box.lines(*(["--strict"] if strict else []), status=int(strict and wrong), limit=40)


# -- surroundings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "env",
    [
        {"HOME": None},
        {"TMPDIR": "/nowhere"},
        {"TMPDIR": None},
        {"LANG": None},
        {"LC_ALL": "C"},
        {"LC_ALL": "xx_YY.UTF-8"},
        {"POSIXLY_CORRECT": "1"},
        {"GREP_OPTIONS": "--color=always", "GREP_COLOR": "1;31"},
        {"IFS": ":", "line": "x", "torch": "cpu 1", "power": "9", "status": "1"},
        {"PYTHONWARNINGS": "error"},
    ],
    ids=str,
)
def test_whatever_the_environment_holds(box: Box, env: dict[str, str | None]) -> None:
    box.torch()
    box.nvidia_smi(GB10)
    box.file("run.yaml", "tensor_parallel_size: 2\n")
    lines = box.lines("--strict", env=env)
    assert lines["G1"] == ("PASS", "torch 2.9.1+cu130 built against CUDA 13.0")
    assert lines["G4"].message.startswith("36, 3.10 W")
    assert lines["G10"].status == "WARN"


@pytest.mark.parametrize("env", [{}, {"TMPDIR": "/nowhere"}], ids=["scratch", "no scratch"])
def test_a_preload_that_the_loader_complains_about(box: Box, env: dict[str, str | None]) -> None:
    """ld.so puts its complaint on the standard error of every program: no reading, no launch file, no reason."""
    box.torch()
    box.nvidia_smi(GB10)
    lines = box.lines("--strict", env={**env, "LD_PRELOAD": "/nowhere/libjemalloc.so"})
    assert lines["G1"].status == "PASS"
    assert (lines["G4"].status, lines["G7"].status) == ("INFO", "INFO")
    assert lines["G10"].status == "SKIP"


def test_cdpath_leads_nowhere_else(box: Box) -> None:
    (box.folder / "other" / "conf").mkdir(parents=True)
    box.file("conf/run.yaml", "tensor_parallel_size: 2\n")
    line = box.lines("--folder", "conf", env={"CDPATH": str(box.folder / "other")})["G10"]
    assert line.status == "WARN"
    assert line.message.endswith(str(box.work / "conf"))


def test_started_by_a_relative_name_or_through_a_link(box: Box) -> None:
    folder = box.folder / "skill" / "assets"
    folder.mkdir(parents=True)
    (folder / "preflight.sh").write_bytes(SCRIPT.read_bytes())
    box.script = Path("assets/preflight.sh")
    assert box.run(cwd=folder.parent, env={"CDPATH": ".:/"}).stderr == "judged environment: none\n"
    (box.folder / "link").symlink_to(folder / "preflight.sh")
    box.script = box.folder / "link"
    assert box.lines()["G1"].status == "SKIP"


def test_it_runs_as_a_program(box: Box) -> None:
    assert len(box.lines(command=[str(SCRIPT)])) == 10


def test_it_runs_from_standard_input(box: Box) -> None:
    """``ssh spark bash -s < preflight.sh``: there is no file to look beside."""
    completed = box.run(command=[*box.command()[:-1], "-s", "--", "--strict"], input=SCRIPT.read_text())
    assert completed.returncode == 1
    assert said(completed)["G1"].status == "SKIP"
    assert completed.stderr == "judged environment: none\n"


def test_without_timeout_it_still_reads(box: Box) -> None:
    (box.bin / "timeout").unlink()
    box.torch()
    box.nvidia_smi(GB10)
    lines = box.lines("--strict")
    assert (lines["G1"].status, lines["G4"].status) == ("PASS", "INFO")


def test_the_variable_of_a_container_is_printed_without_its_control_characters(box: Box) -> None:
    box.lines(env={"container": "podman\x1b[31m\nG9 FAIL: forged"})


def test_it_leaves_nothing_behind(box: Box) -> None:
    box.torch()
    box.nvidia_smi(GB10)
    box.run()
    assert not list((box.folder / "scratch").iterdir()) and not list(box.work.iterdir())


# -- as somebody who may do little ------------------------------------------------------------------------------------


@pytest.fixture
def modest() -> Iterator[tuple[Box, dict[str, Any]]]:
    """A box that every user can reach, and options that run the script as nobody."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        box = Box(folder / "box")
        script = folder / "preflight.sh"
        script.write_bytes(SCRIPT.read_bytes())
        box.script = script
        yield box, {"user": NOBODY, "group": NOBODY, "extra_groups": []} if running_as_root() else {}


def test_a_user_who_can_write_nowhere(modest: tuple[Box, dict[str, Any]]) -> None:
    box, user = modest
    box.nvidia_smi(GB10)
    box.file("run.yaml", "tensor_parallel_size: 2\n")
    for folder in (box.work, box.folder / "scratch", box.folder / "home"):
        folder.chmod(0o555)
    lines = box.lines("--strict", **user)
    assert lines["G4"].message.startswith("36, 3.10 W")
    assert (lines["G3"].status, lines["G10"].status) == ("INFO", "WARN")


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o111], ids=oct)
def test_a_folder_that_cannot_be_read_is_not_said_to_hold_nothing(
    modest: tuple[Box, dict[str, Any]], mode: int
) -> None:
    box, user = modest
    box.file("closed/run.yaml", "tensor_parallel_size: 2\n")
    closed = box.work / "closed"
    closed.chmod(mode)
    try:
        if not user and os.access(closed / "run.yaml", os.R_OK):
            pytest.skip("this user reads everything")
        line = box.lines("--folder", "closed", **user)["G10"]
    finally:
        closed.chmod(0o755)
    assert line.status == "SKIP"
    assert "no launch file" not in line.message
    assert str(closed) in line.message
