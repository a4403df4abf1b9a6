"""The skill's preflight.sh where gonogo is installed: what is taken from it, and what happens when it fails."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from preflight_script import GB10, NUMBERS, SCRIPT, Box, said


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "box")


OWN = "not automated here"  # how the script's own G2 begins: gonogo was not used


def ten(**changes: str) -> str:
    return "".join(f"{gotcha} {changes.get(gotcha, f'SKIP: of gonogo {gotcha}')}\n" for gotcha in NUMBERS)


def stand_in(box: Box, text: str, status: int = 0, errors: str = "") -> None:
    """A gonogo that prints ``text`` and writes down how it was called."""
    folder = box.folder
    (folder / "gonogo-output").write_text(text)
    (folder / "gonogo-errors").write_text(errors)
    box.program(
        "gonogo",
        f'echo "$@" >>"{folder}/calls"\ncat "{folder}/gonogo-errors" >&2\ncat "{folder}/gonogo-output"\nexit {status}',
    )


# -- gonogo -----------------------------------------------------------------------------------------------------------


def test_the_lines_of_the_real_one(box: Box) -> None:
    box.program("gonogo", f'PYTHONPATH= exec "{sys.executable}" -m gonogo "$@"')
    box.file("run.yaml", "tensor_parallel_size: 2\n")
    lines = box.lines()
    direct = subprocess.run(
        [str(box.bin / "gonogo"), "check", "--format", "plain"],
        env=box.environment(),
        cwd=box.work,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    expected = dict(line.split(" ", 1) for line in direct.stdout.splitlines() if re.match(r"G([1-9]|10) ", line))
    assert list(expected) == NUMBERS
    for gotcha in NUMBERS[:-1]:
        # Temperatures, watts and bytes move between two calls.
        assert figures(f"{lines[gotcha].status}: {lines[gotcha].message}") == figures(expected[gotcha])
    if expected["G10"].startswith("SKIP"):
        assert lines["G10"].status == "WARN"
    assert box.run("--strict").returncode == direct.returncode


def figures(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def test_only_what_gonogo_leaves_open_is_completed(box: Box) -> None:
    box.file("run.yaml", "tensor_parallel_size: 2\n")
    stand_in(box, ten(G1="PASS: fine", G3="INFO: free/used (GB): 1.0 2.0"))
    lines = box.lines()
    assert lines["G1"] == ("PASS", "fine")
    assert lines["G2"] == ("SKIP", "of gonogo G2")
    assert lines["G3"] == ("INFO", "free/used (GB): 1.0 2.0")
    assert lines["G10"].status == "WARN" and "run.yaml" in lines["G10"].message
    assert (box.folder / "calls").read_text() == "check --format plain\n"


@pytest.mark.parametrize("own", ["INFO: WORLD_SIZE 1", "WARN: NCCL_IB_DISABLE=1", "FAIL: fabric", "UNKNOWN: no answer"])
def test_what_gonogo_says_of_g10_stays(box: Box, own: str) -> None:
    box.file("run.yaml", "tensor_parallel_size: 2\n")
    stand_in(box, ten(G10=own))
    line = box.lines()["G10"]
    assert f"{line.status}: {line.message}" == own


@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize("strict", [True, False])
def test_the_verdict_is_gonogos(box: Box, status: int, strict: bool) -> None:
    stand_in(box, ten(), status)
    box.lines(*(["--strict"] if strict else []), status=int(strict and status))


def test_more_than_ten_lines_and_words_on_standard_error(box: Box) -> None:
    environment = "judged environment: /opt/train/bin/python (VIRTUAL_ENV), Python 3.12.3, torch 2.9.1+cpu"
    more = "G12 FAIL: torch 2.9.1+cpu is a CPU-only build on a machine with an NVIDIA GPU"
    stand_in(box, ten() + more + "\n", 1, environment + "\n")
    completed = box.run("--strict")
    assert completed.returncode == 1
    assert said(completed)["G2"].message == "of gonogo G2"
    # Ten lines on standard output; which environment it was, and the reason of the 1, are still told.
    assert environment in completed.stderr
    assert more in completed.stderr


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (ten(), 2),
        (ten(), 127),
        ("", 0),
        ("usage: gonogo VERB\n", 0),
        ("Traceback (most recent call last):\n  File ...\nModuleNotFoundError: No module named 'gonogo'\n", 1),
        ("\n".join(ten().splitlines()[:9]), 0),
        (ten(G4="\n"), 0),
        (ten(G4="BANANA: yellow"), 0),
        (ten().lower(), 0),
        ("kill", 139),
    ],
)
def test_a_gonogo_that_is_broken_is_done_without(box: Box, text: str, status: int) -> None:
    if text == "kill":
        box.program("gonogo", "kill -SEGV $$")
    else:
        stand_in(box, text, status, "some words\n")
    box.nvidia_smi(GB10)
    lines = box.lines("--strict")
    assert lines["G2"].message.startswith(OWN)
    assert lines["G4"].message.startswith("36, 3.10 W")


def test_control_characters_of_another_gonogo(box: Box) -> None:
    stand_in(box, ten(G4="INFO: \x1b[31mred\x07"))
    box.lines()


def test_a_gonogo_that_hangs_is_done_without(box: Box) -> None:
    (box.bin / "sleep").symlink_to(shutil.which("sleep") or "/bin/sleep")
    box.program("gonogo", "sleep 50")
    box.quick()
    assert box.lines(limit=40)["G2"].message.startswith(OWN)


def test_gonogo_of_the_interpreter_without_a_command(box: Box) -> None:
    box.program("python3", f'exec "{sys.executable}" "$@"')
    assert not box.lines(env={"PYTHONPATH": None})["G2"].message.startswith(OWN)


def test_a_folder_called_gonogo_in_the_working_folder_is_not_run(box: Box) -> None:
    """The folder that is looked through holds other people's files: none of them is executed."""
    box.python()
    for name in ("gonogo/__init__.py", "gonogo/cli.py", "gonogo/__main__.py", "torch/__init__.py", "json.py"):
        box.file(name, f"open({str(box.folder / 'executed')!r}, 'w')\n")
    box.file("gonogo-collect.pyz", f"open({str(box.folder / 'executed')!r}, 'w')\n")
    box.lines()
    # From standard input there is no file to look beside.
    box.lines(command=[*box.command()[:-1], "-s"], input=SCRIPT.read_text())
    assert not (box.folder / "executed").exists()
