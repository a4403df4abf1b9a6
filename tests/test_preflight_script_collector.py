"""The skill's preflight.sh with gonogo-collect.pyz beside it: readings come from it, and are not made more of."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nvml_stand_in import build
from preflight_script import GB10, ROOT, SCRIPT, Box, said


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "box")


@pytest.fixture(scope="module")
def zipapp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("zipapp") / "gonogo-collect.pyz"
    subprocess.run([sys.executable, str(ROOT / "scripts" / "build_zipapp.py"), str(target)], check=True, timeout=60)
    return target


@pytest.fixture
def beside(box: Box, zipapp: Path) -> Box:
    """The collector lies beside the script, and NVML answers as on a Spark at rest; there is no nvidia-smi."""
    folder = box.folder / "skill folder" / "assets"
    folder.mkdir(parents=True)
    shutil.copy(SCRIPT, folder)
    shutil.copy(zipapp, folder)
    box.script = folder / "preflight.sh"
    box.python()
    return box


@pytest.fixture
def variables(beside: Box) -> Callable[..., dict[str, str | None]]:
    def make(environment: Path | None = None) -> dict[str, str | None]:
        library = build(beside.folder / "nvml", "gb10.c")
        return {"LD_LIBRARY_PATH": str(library), "VIRTUAL_ENV": str(environment) if environment else None}

    return make


MISSING = {reason: {"missing": reason} for reason in ("not_found", "permission_denied", "timed_out")}
Variables = Callable[..., dict[str, str | None]]
Environment = Callable[..., Path]


def test_readings_come_from_the_collector(beside: Box, variables: Variables, environment: Environment) -> None:
    # environment's torch ends the interpreter that imports it.
    completed = beside.run("--strict", env=variables(environment()))
    lines = said(completed)
    assert completed.returncode == 0
    assert lines["G1"] == ("PASS", "torch 2.9.1+cu130 built against CUDA 13.0")
    # tests/nvml_stand_in/gb10.c: 3100 mW and this temperature.
    assert lines["G4"].status == "INFO"
    assert re.match(r"36, 3\.10? W\b", lines["G4"].message)
    assert "12.1" in lines["G7"].message
    assert re.match(r"free/used \(GB\): \d+\.\d \d+\.\d", lines["G3"].message)
    assert "training/bin/python" in completed.stderr


def test_a_collected_cuda_12_build_that_resolves_is_slower_on_a_spark(
    beside: Box, variables: Variables, environment: Environment
) -> None:
    line = beside.lines(env=variables(environment(torch="2.9.1+cu128", cuda="12.8")))["G1"]
    assert line.status == "WARN" and "slower" in line.message


def test_a_collected_torch_whose_runtime_is_nowhere_is_no_pass(
    beside: Box, variables: Variables, environment: Environment
) -> None:
    # A CUDA that no machine has, so that no loader cache names it.
    folder = environment(torch="2.9.1+cu990", cuda="99.0")
    for library in folder.rglob("libcudart.so.*"):
        library.unlink()
    line = beside.lines("--strict", env=variables(folder), status=1)["G1"]
    assert line.status == "FAIL"
    assert "libcudart.so.99" in line.message


def test_a_collected_cpu_only_torch(beside: Box, variables: Variables, environment: Environment) -> None:
    line = beside.lines(env=variables(environment(torch="2.9.1+cpu", cuda=None)))["G1"]
    assert line.status == "SKIP" and "CPU-only" in line.message


def test_no_torch_collected(beside: Box, variables: Variables, environment: Environment) -> None:
    folder = environment(torch=None)
    line = beside.lines(env=variables(folder))["G1"]
    assert line.status == "SKIP" and str(folder) in line.message


def test_an_interpreter_that_gave_the_collector_no_answer(
    beside: Box, variables: Variables, environment: Environment
) -> None:
    folder = environment(torch=None)
    (folder / "bin" / "python").unlink()
    (folder / "bin" / "python").write_text("#!/bin/sh\nkill -SEGV $$\n")
    (folder / "bin" / "python").chmod(0o755)
    line = beside.lines(env=variables(folder))["G1"]
    assert line.status == "UNKNOWN", line


@pytest.mark.parametrize(
    ("section", "changes", "status"),
    [
        ("python", {}, "PASS"),
        ("python", {"torch": MISSING["not_found"]}, "SKIP"),
        ("python", {"torch": MISSING["permission_denied"]}, "UNKNOWN"),
        ("python", {"torch": MISSING["timed_out"], "start": MISSING["timed_out"]}, "UNKNOWN"),
        ("python", {"cuda_libraries": []}, "FAIL"),
        ("python", {"cuda_libraries": MISSING["permission_denied"]}, "UNKNOWN"),
        ("cuda", {"loadable": MISSING["timed_out"]}, "PASS"),  # the environment's own library is found
    ],
)
def test_a_collected_fact_that_is_missing_is_no_answer(
    beside: Box, spark: Callable[..., Any], section: str, changes: dict[str, Any], status: str
) -> None:
    """A collector that prints these facts: a healthy Spark's, but for the changes."""
    facts = json.dumps(spark(**{section: changes}))
    (beside.script.parent / "gonogo-collect.pyz").write_text(f"print({facts!r})\n")
    lines = beside.lines("--strict", status=int(status == "FAIL"))
    assert lines["G1"].status == status, lines["G1"]
    # conftest's healthy Spark: 41 C, 4.2 W; 100 of 121 GiB available.
    assert re.match(r"41, 4\.20? W\b", lines["G4"].message)
    assert lines["G3"].message.startswith("free/used (GB): 100.0 21.0")


@pytest.mark.parametrize("content", ["", "not a zip", "import sys; sys.exit(1)", "print('{}')", "print('[1]')", "hang"])
def test_a_broken_collector_is_done_without(beside: Box, content: str) -> None:
    beside.torch()
    beside.nvidia_smi(GB10)
    (beside.script.parent / "gonogo-collect.pyz").write_text(
        content if content != "hang" else "import time; time.sleep(50)"
    )
    if content == "hang":
        folder = beside.script.parent
        beside.quick()
        beside.script = beside.script.rename(folder / "preflight.sh")
    lines = beside.lines("--strict", limit=40)
    assert lines["G1"] == ("PASS", "torch 2.9.1+cu130 built against CUDA 13.0")
    assert lines["G4"].message.startswith("36, 3.10 W")


def test_the_collector_without_python(beside: Box) -> None:
    (beside.bin / "python3").unlink()
    beside.nvidia_smi(GB10)
    lines = beside.lines()
    assert lines["G1"] == ("SKIP", "no python3 here")
    assert lines["G4"].message.startswith("36, 3.10 W")
