"""G4 and G7 of the skill's preflight.sh, from an nvidia-smi that answers, fails, hangs or prints what it should not.

Rows are in the form of ``nvidia-smi --query-gpu=temperature.gpu,power.draw,compute_cap --format=csv,noheader``; error
texts are nvidia-smi's own, as published reports quote them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from preflight_script import BASH, GB10, H200, NO_DRIVER, Box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "box")


# -- readings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "reading", "capability"),
    [
        (GB10, "36, 3.10 W", "12.1"),
        (H200, "37, 80.27 W", "9.0"),
        ("45, 100 W, 12.1\n", "45, 100 W", "12.1"),
        (f"{H200}\n38, 81.00 W, 9.0\n39, 82.00 W, 9.0\n", "37, 80.27 W", "9.0"),
        ("36, [N/A], 12.1\n", "36, N/A W", "12.1"),
        ("36, [Not Supported], 12.1\n", "36, N/A W", "12.1"),
        ("[Unknown Error], 3.10 W, 12.1\n", "N/A, 3.10 W", "12.1"),
        ("36, [Insufficient Permissions], 12.1\n", "36, N/A W", "12.1"),
    ],
)
def test_a_reading(box: Box, rows: str, reading: str, capability: str) -> None:
    box.nvidia_smi(rows)
    lines = box.lines("--strict")
    assert lines["G4"].status == lines["G7"].status == "INFO"
    assert lines["G4"].message.startswith(reading)
    assert capability in lines["G7"].message


def test_no_reading_is_judged(box: Box) -> None:
    """One sample proves no throttling: 98 C and 20 W may be a healthy card just after a load."""
    box.nvidia_smi("98, 20.00 W, 12.1\n")
    assert box.lines()["G4"].status == "INFO"


def test_not_a_number_anywhere(box: Box) -> None:
    box.nvidia_smi("[N/A], [N/A], [N/A]\n")
    lines = box.lines()
    assert lines["G4"].status == lines["G7"].status == "SKIP"
    assert "temperature" in lines["G4"].message and "capability" in lines["G7"].message


def test_a_capability_alone_is_missing(box: Box) -> None:
    box.nvidia_smi("36, 3.10 W, [N/A]\n")
    lines = box.lines()
    assert (lines["G4"].status, lines["G7"].status) == ("INFO", "SKIP")


@pytest.mark.parametrize("env", [{}, {"TMPDIR": "/nowhere"}], ids=["scratch", "no scratch"])
def test_a_warning_on_standard_error_is_no_row(box: Box, env: dict[str, str | None]) -> None:
    box.nvidia_smi(GB10, errors="WARNING: infoROM is corrupted at gpu 000F:01:00.0\n")
    lines = box.lines("--strict", env=env)
    assert lines["G4"].message.startswith("36, 3.10 W")
    assert lines["G7"].status == "INFO"


def test_a_warning_after_the_row(box: Box) -> None:
    box.nvidia_smi(f"{GB10}\nWARNING: infoROM is corrupted at gpu 000F:01:00.0\n")
    assert box.lines()["G4"].message.startswith("36, 3.10 W")


def test_a_driver_too_old_to_know_the_capability_still_gives_its_reading(box: Box) -> None:
    """As drivers before 510 answer; the script that this one replaces asked for two columns and got them."""
    body = """case $* in
  *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;
  *) echo '36, 3.10 W' ;;
esac"""
    box.program("nvidia-smi", body)
    lines = box.lines("--strict")
    assert lines["G4"].status == "INFO"
    assert lines["G4"].message.startswith("36, 3.10 W")
    assert lines["G7"].status == "SKIP"


def test_torch_knows_the_capability_where_there_is_no_nvidia_smi(box: Box) -> None:
    """A container started with NVIDIA_DRIVER_CAPABILITIES=compute has none; the replaced script asked torch."""
    box.torch()
    with (box.packages / "torch" / "__init__.py").open("a") as file:
        file.write("class cuda:\n    is_available = lambda: True\n    get_device_capability = lambda *a: (12, 1)\n")
    line = box.lines()["G7"]
    assert line.status in ("INFO", "PASS")
    assert "12.1" in line.message or "12, 1" in line.message


# -- no reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "status", "text"),
    [
        (NO_DRIVER, 9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"),
        (f"\n  {NO_DRIVER}", 9, "NVIDIA-SMI has failed"),
        ("No devices were found\n", 0, "No devices were found"),
        ("No devices were found\n", 6, "No devices were found"),
        ("Failed to initialize NVML: Driver/library version mismatch\n", 18, "Driver/library version mismatch"),
        (f"{GB10}\n", 15, ""),
        ("garbage\n", 0, "garbage"),
        ("\x1b[31mred\x1b[0m\x07\x08\n", 0, "red"),
        ("\xe9\x9b\n", 0, ""),
        ("", 0, ""),
        ("\n\n", 0, ""),
        ("", 1, "1"),
        ("x" * 100_000, 0, "xxx"),
        ("\0\0\0", 0, ""),
    ],
)
def test_an_error_is_a_skip_that_says_why(box: Box, output: str, status: int, text: str) -> None:
    box.nvidia_smi(output, status)
    lines = box.lines()
    assert lines["G4"].status == lines["G7"].status == "SKIP"
    assert text in lines["G4"].message
    assert not lines["G4"].message.rstrip().endswith(":"), "a reason is missing"
    assert len(lines["G4"].message) < 300
    box.lines("--strict", status=1)


def test_an_error_on_standard_error_is_told_too(box: Box) -> None:
    box.nvidia_smi("", 12, errors="NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n")
    assert "couldn't find libnvidia-ml.so" in box.lines()["G4"].message


@pytest.mark.parametrize("name", ["a folder", "not executable", "another machine's"])
def test_an_nvidia_smi_that_is_no_program(box: Box, name: str) -> None:
    path = box.bin / "nvidia-smi"
    if name == "a folder":
        path.mkdir()
    else:
        path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(60))
        path.chmod(0o755 if name == "another machine's" else 0o644)
    assert box.lines()["G4"].status == "SKIP"


def test_an_nvidia_smi_that_crashes(box: Box) -> None:
    box.program("nvidia-smi", "kill -SEGV $$")
    line = box.lines()["G4"]
    assert line.status == "SKIP"
    assert not line.message.rstrip().endswith(":")


def test_an_nvidia_smi_that_prints_far_too_much_does_not_fill_memory(box: Box) -> None:
    """A run may hold most of the memory of this machine: 300 MB printed, 200 MB of address space for each process."""
    box.program("nvidia-smi", "head -c 300000000 /dev/zero | tr '\\000' x")
    inside = 'ulimit -v 200000; exec "$@"'
    lines = box.lines(command=[BASH, "-c", inside, "limited", *box.command()])
    assert lines["G4"].status == "SKIP"
    assert len(lines["G4"].message) < 300


# -- no end -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def slow(box: Box) -> Box:
    (box.bin / "sleep").symlink_to(shutil.which("sleep") or "/bin/sleep")
    box.quick()
    return box


@pytest.mark.parametrize("scratch", [None, "/nowhere"], ids=["scratch", "no scratch"])
@pytest.mark.parametrize("kind", ["hangs", "ignores the end", "leaves a child", "leaves a child of another session"])
def test_an_nvidia_smi_that_hangs(slow: Box, kind: str, scratch: str | None) -> None:
    body = "exec sleep 50"
    if kind == "ignores the end":
        body = "trap '' TERM\nsleep 50"
    elif kind == "leaves a child":
        body = "sleep 50 &\nexec sleep 50"
    elif kind == "leaves a child of another session":
        setsid = shutil.which("setsid")
        if setsid is None:
            pytest.skip("no setsid here")
        body = f"{setsid} sleep 50 &\nexec sleep 50"
    slow.program("nvidia-smi", body)
    lines = slow.lines(limit=30, env={"TMPDIR": scratch} if scratch else {})
    assert lines["G4"].status == lines["G7"].status == "SKIP"
    assert "did not answer" in lines["G4"].message


def test_an_answer_is_taken_from_one_that_leaves_a_child(slow: Box) -> None:
    """The answer is there and the program has ended: what still holds its output is not waited for."""
    setsid = shutil.which("setsid") or "nohup"
    slow.program("nvidia-smi", f"{setsid} sleep 50 &\necho '{GB10}'")
    assert slow.lines(limit=30)["G4"].message.startswith("36, 3.10 W")
