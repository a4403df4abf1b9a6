"""G1 of the skill's preflight.sh, read by importing torch: real interpreters, with a torch of a few lines."""

from __future__ import annotations

import os
import signal as signals
import subprocess
import time
from pathlib import Path

import pytest
from preflight_script import GB10, H200, Box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "box")


def killed_by(number: int) -> str:
    return f"import os; os.kill(os.getpid(), {number})"


def fails(error: str, message: str) -> str:
    return f"raise {error}({message!r})"


LIBCUDART = "libcudart.so.12: cannot open shared object file: No such file or directory"
#: As torch 2.x fails with another library's symbol in its way.
SYMBOL = "/x/torch/lib/libtorch_cuda.so: undefined symbol: cudaGetDriverEntryPointByVersion, version libcudart.so.12"


# -- the build --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "version", "cuda", "status"),
    [
        (GB10, "2.9.1+cu130", "13.0", "PASS"),
        (GB10, "2.9.0a0+50eac811a6.nv25.09", "13.0", "PASS"),  # NGC's own: no +cu130
        (GB10, "2.11.0+cu132", "13.2", "PASS"),
        (GB10, "2.9.1+cu128", "12.8", "WARN"),
        (GB10, "2.4.0+cu118", "11.8", "WARN"),
        (H200, "2.9.1+cu128", "12.8", "PASS"),
        (H200, "2.9.1+cu126", "12.6", "PASS"),
        ("", "2.9.1+cu128", "12.8", "PASS"),
    ],
)
def test_a_cuda_build(box: Box, gpu: str, version: str, cuda: str, status: str) -> None:
    box.torch(version, cuda)
    if gpu:
        box.nvidia_smi(gpu)
    line = box.lines()["G1"]
    assert line.status == status
    assert line.message.startswith(f"torch {version} built against CUDA {cuda}")
    assert ("slower" in line.message) == (status == "WARN")


def test_a_cuda_version_that_is_none(box: Box) -> None:
    """Nothing is guessed: what cannot be compared is not a PASS."""
    box.torch("2.9.1+local", "nightly")
    box.nvidia_smi(GB10)
    completed = box.run()
    assert "integer expression" not in completed.stderr
    assert box.lines()["G1"].status == "UNKNOWN"


def test_a_cpu_only_build_is_called_one(box: Box) -> None:
    box.torch("2.9.1+cpu", None)
    line = box.lines()["G1"]
    assert line.status == "SKIP"
    assert "2.9.1+cpu" in line.message and "CPU-only" in line.message and "G12" in line.message


def test_a_rocm_build_is_called_one(box: Box) -> None:
    box.torch("2.9.1+rocm6.4", None, hip="6.4.43482")
    line = box.lines()["G1"]
    assert line.status == "SKIP"
    assert "ROCm" in line.message and "G12" in line.message


def test_torch_is_not_installed(box: Box) -> None:
    box.python()
    line = box.lines()["G1"]
    assert line.status == "SKIP"
    assert f"torch is not installed for {box.bin}/python3" in line.message


def test_a_version_with_control_characters(box: Box) -> None:
    box.torch("2.9.1\x1b[31m+cu130", "13.0")
    assert box.lines()["G1"].status == "PASS"


# -- an import that prints --------------------------------------------------------------------------------------------

NOISE = """
import sys, warnings
print("WARNING: READ cuda 1.0 9.9")
print("G1 FAIL: said by somebody else")
sys.stderr.write("FutureWarning: The pynvml package is deprecated\\n")
warnings.warn("a warning of torch")
"""


def test_warnings_before_the_answer(box: Box) -> None:
    box.torch(before=NOISE)
    assert box.lines()["G1"] == ("PASS", "torch 2.9.1+cu130 built against CUDA 13.0")


def test_lines_after_the_answer(box: Box) -> None:
    box.torch(before="import atexit; atexit.register(print, 'goodbye')")
    assert box.lines()["G1"].status == "PASS"


@pytest.mark.parametrize("end", ["failing", "absent"])
def test_what_was_printed_before_is_not_taken_for_the_reason(box: Box, end: str) -> None:
    """A pipe's buffer is written when the interpreter ends: after the traceback."""
    if end == "failing":
        box.torch(before=NOISE + fails("ImportError", LIBCUDART))
        line = box.lines()["G1"]
        assert line.status == "FAIL"
        assert LIBCUDART in line.message
    else:
        box.python("")
        (box.packages / "sitecustomize.py").write_text("print('hello from sitecustomize')\n")
        line = box.lines()["G1"]  # nor is it on the script's own standard output
        assert line.status == "SKIP"
        assert "torch is not installed" in line.message


# -- an import that fails ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "status", "text"),
    [
        (fails("ImportError", LIBCUDART), "FAIL", "libcudart.so.12"),
        (fails("OSError", LIBCUDART.replace("12", "13")), "FAIL", "libcudart.so.13"),
        (fails("ImportError", SYMBOL), "FAIL", "undefined symbol: cudaGetDriverEntryPointByVersion"),
        (fails("ImportError", "cannot import name 'x' from 'y'"), "UNKNOWN", "cannot import name 'x'"),
        (fails("ModuleNotFoundError", "No module named 'torch._C'"), "UNKNOWN", "No module named 'torch._C'"),
        (fails("ModuleNotFoundError", "No module named 'typing_extensions'"), "UNKNOWN", "typing_extensions"),
        ("def broken(:\n", "UNKNOWN", "SyntaxError"),
        (fails("RuntimeError", "first line\n  and a second"), "UNKNOWN", "RuntimeError: first line"),
        (fails("RuntimeError", "x" * 5000), "UNKNOWN", "RuntimeError: xxx"),
        (fails("RuntimeError", "\x1b[31mred\x07"), "UNKNOWN", "red"),
        ("import sys; sys.exit(0)", "UNKNOWN", "import torch failed"),
        ("import os; os._exit(3)", "UNKNOWN", "3"),
    ],
)
def test_an_import_that_fails(box: Box, before: str, status: str, text: str) -> None:
    box.torch(before=before)
    line = box.lines()["G1"]
    assert line.status == status, line
    assert text in line.message
    assert len(line.message) < 300


@pytest.mark.parametrize("missing", [True, False], ids=["no torch", "no libcudart"])
def test_without_a_place_to_write_the_reason_is_still_read(box: Box, missing: bool) -> None:
    """A container with a root that is read-only."""
    if missing:
        box.python()
    else:
        box.torch(before=fails("ImportError", LIBCUDART))
    line = box.lines(env={"TMPDIR": "/nowhere"})["G1"]
    assert line.status == ("SKIP" if missing else "FAIL"), line


@pytest.mark.parametrize("number", [4, 6, 7, 11], ids=["SIGILL", "SIGABRT", "SIGBUS", "SIGSEGV"])
def test_an_import_that_crashes(box: Box, number: int) -> None:
    box.torch(before=killed_by(number))
    assert box.lines("--strict", status=1)["G1"] == ("FAIL", f"import torch was killed by signal {number}")


def test_an_import_that_the_memory_killer_ended_was_not_late(box: Box) -> None:
    box.torch(before=killed_by(9))
    line = box.lines()["G1"]
    assert line.status in ("FAIL", "UNKNOWN")
    assert "signal 9" in line.message
    assert "did not end" not in line.message


def test_an_import_that_hangs(box: Box) -> None:
    box.torch(before="import time; time.sleep(50)")
    box.quick()
    line = box.lines(limit=40)["G1"]
    assert line.status == "UNKNOWN"
    assert "did not end" in line.message


def test_an_import_that_hangs_and_will_not_be_ended(box: Box) -> None:
    box.torch(before="import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(50)")
    box.quick()
    line = box.lines(limit=40)["G1"]
    assert line.status == "UNKNOWN"
    assert "did not end" in line.message


def test_an_interpreter_that_always_hangs(box: Box) -> None:
    """Every call of python3 has a limit, the one that looks for gonogo too."""
    box.program("python3", "exec sleep 50")
    (box.bin / "sleep").symlink_to("/bin/sleep")
    box.quick()
    assert box.lines(limit=40)["G1"].status == "UNKNOWN"


def cuda(box: Box, code: str) -> None:
    """Give the box's torch a ``cuda`` whose every function runs ``code``."""
    lines = ["class cuda:", f"    is_available = staticmethod(lambda: [exec({code!r}), True][1])"]
    lines.append(f"    get_device_capability = staticmethod(lambda *a: [exec({code!r}), (12, 1)][1])")
    with (box.packages / "torch" / "__init__.py").open("a") as file:
        file.write("\n".join(lines) + "\n")


def test_a_first_call_that_crashes_is_not_the_import(box: Box) -> None:
    box.torch()
    cuda(box, killed_by(11))
    lines = box.lines()
    # The import works. That a first CUDA call dies is a FAIL of G1 too, if it is told as that.
    assert lines["G1"].status == "PASS" or "import torch was" not in lines["G1"].message
    assert lines["G7"].status == "SKIP"


def test_a_first_call_that_hangs_is_not_the_import(box: Box) -> None:
    box.torch()
    cuda(box, "import time; time.sleep(50)")
    box.quick()
    lines = box.lines(limit=40)
    assert lines["G1"].status in ("PASS", "UNKNOWN")
    assert "import torch did not end" not in lines["G1"].message
    assert lines["G7"].status == "SKIP"


def test_cuda_is_not_started_where_the_capability_is_known(box: Box) -> None:
    """A context takes some hundred MB of the memory that a run beside it may need."""
    box.torch()
    cuda(box, f"open({str(box.folder / 'started')!r}, 'w')")
    box.nvidia_smi(GB10)
    assert box.lines()["G7"].status == "INFO"
    assert not (box.folder / "started").exists()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("echo 'pyenv: python3: command not found' >&2; exit 127", "pyenv: python3: command not found"),
        ("exit 1", "exit status 1"),
        ("echo READ; exit 0", ""),
        ("printf '\\033]0;title\\007\\377\\200\\n'; exit 1", "title"),
        ("kill -SEGV $$", "killed by signal 11"),
    ],
)
def test_a_python3_that_is_none(box: Box, body: str, text: str) -> None:
    box.program("python3", body)
    line = box.lines()["G1"]
    assert line.status in ("UNKNOWN", "FAIL")
    assert text in line.message


def test_a_folder_called_torch_in_the_working_folder_is_no_torch(box: Box) -> None:
    """A folder of checkpoints: Python would take it for a package without a file."""
    box.python()
    box.file("torch/checkpoint.pt", "")
    assert box.lines()["G1"].status == "SKIP"


def test_control_c_ends_it(box: Box) -> None:
    """A terminal sends it to the foreground group alone, which the script is in and what it waits for may not be."""
    started = box.folder / "started"
    box.torch(before=f"open({str(started)!r}, 'w'); import time; time.sleep(50)")
    with subprocess.Popen(
        box.command(),
        cwd=box.work,
        env=box.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        while not started.exists():
            time.sleep(0.05)
        os.killpg(process.pid, signals.SIGINT)
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signals.SIGKILL)
            pytest.fail("it goes on until the limit of what it waits for")
    assert process.returncode != 0
