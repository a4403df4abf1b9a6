"""The GPU collector against libraries and programs that hang, crash, fail or know little, as whole processes.

The stand-ins for NVML are described in nvml_stand_in/README.md; their figures are the expected values. The time limits
below only keep a hang from stopping the run.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nvml_stand_in import build, real_nvml

from gonogo.node.facts import codec

HANG_GUARD = 20

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="NVML's stand-ins are for Linux")
without_nvml = pytest.mark.skipif(real_nvml(), reason="this machine has NVML, so that nvidia-smi is not asked")

Facts = Callable[..., dict[str, Any]]


@pytest.fixture
def facts(gonogo: Callable[..., Any], tmp_path: Path) -> Facts:
    """The sections of `gonogo record`, with a stand-in for NVML or for nvidia-smi. Nothing may be left running."""

    def sections(nvml: tuple[str, ...] = (), nvidia_smi: str = "") -> dict[str, Any]:
        env = {"LD_LIBRARY_PATH": str(build(tmp_path / "nvml", *nvml))} if nvml else {}
        if nvidia_smi:
            program = tmp_path / "programs" / "nvidia-smi"
            program.write_text(f"#!/bin/sh\n{nvidia_smi}\n")
            program.chmod(0o755)
        completed = gonogo("record", env=env, timeout=HANG_GUARD)
        assert (completed.returncode, completed.stderr) == (0, "")
        for _ in range(500):  # what was killed dies in its own time
            if not _left_running(tmp_path):
                break
            time.sleep(0.02)
        assert _left_running(tmp_path) == []
        document = json.loads(completed.stdout)
        # Whatever the GPU does, the others answer.
        others = {run["name"]: run["outcome"] for run in document["collectors"] if run["name"] != "gpu"}
        assert set(others) == set(codec.section_names()) - {"gpu", "updates"}
        assert others["python"] == others["memory"] == "ok" and set(others.values()) <= {"ok", "not_found"}
        return document["sections"]  # type: ignore[no-any-return]

    return sections


def _left_running(folder: Path) -> list[str]:
    """Processes that still have this test's environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mine = f"HOME={folder}/home".encode() in (process / "environ").read_bytes().split(b"\0")
            # proc(5), stat: the state follows the name. A dead one waits for init to take note of it.
            if mine and (process / "stat").read_text().rpartition(") ")[2][0] not in "ZX":
                found.append((process / "cmdline").read_text())
        except OSError:
            pass
    return found


# -- NVML -------------------------------------------------------------------------------------------------------------


def test_nvml_on_a_gb10(facts: Facts) -> None:
    gpu = facts(nvml=("gb10.c",))["gpu"]
    assert (gpu["source"], gpu["driver_version"], gpu["cuda_version"]) == ("nvml", "580.126.09", "13.0")
    [device] = gpu["devices"]
    unsupported = {
        name for name, value in device.items() if isinstance(value, dict) and value.get("missing") == "not_supported"
    }
    assert unsupported == {
        *("memory_total_bytes", "memory_free_bytes", "memory_used_bytes"),
        *("power_limit_watts", "clock_memory_mhz", "mig_enabled"),
    }
    assert {name: value for name, value in device.items() if name not in unsupported} == {
        "device_index": 0,
        "name": "NVIDIA GB10",
        "pci_bus_id": "0000000F:01:00.0",
        "pci_device_id": "10de:2e12",
        "compute_capability": "12.1",
        "power_watts": 3.1,
        "temperature_celsius": 36,
        "temperature_margin_celsius": 58,
        "clock_sm_mhz": 208,
        "clock_sm_max_mhz": 3003,
        "utilization_gpu_percent": 0,
        "performance_state": 8,
        "event_reasons_active": ["gpu_idle"],
        "event_reason_nanoseconds": {"sw_power_cap": 173_000_000_000},
        "display_active": True,
        "processes": [
            {"pid": 4242, "kind": "compute", "memory_bytes": 40_426_799_104},
            {"pid": 2211, "kind": "graphics", "memory_bytes": {"missing": "not_supported"}},
        ],
    }


def test_check_knows_the_gb10_by_nvml_alone(gonogo: Callable[..., Any], tmp_path: Path) -> None:
    env = {"LD_LIBRARY_PATH": str(build(tmp_path / "nvml", "gb10.c"))}
    completed = gonogo("check", "--format", "json", "-v", env=env, timeout=HANG_GUARD)
    result = json.loads(completed.stdout)
    assert result["platform"]["id"] == "gb10"
    assert {run["name"]: run["outcome"] for run in result["collectors"]}["gpu"] == "ok"
    # Memory, power limit and memory clock that are not supported are this machine's normal state.
    statuses = {item["status"] for item in result["findings"] if item["gotcha"] in ("G3", "G4", "G18")}
    assert statuses <= {"PASS", "INFO", "SKIP"}


def test_a_counter_that_cannot_be_costs_no_other_fact(gonogo: Callable[..., Any], tmp_path: Path) -> None:
    # All ones is what a register gives that nobody answers for; the GPU is there all the same.
    env = {"LD_LIBRARY_PATH": str(build(tmp_path / "nvml", "gb10.c", "-DCOUNTER=~0ULL"))}
    record = gonogo("record", env=env, timeout=HANG_GUARD)
    [device] = json.loads(record.stdout)["sections"]["gpu"]["devices"]
    assert (device["name"], device["power_watts"]) == ("NVIDIA GB10", 3.1)
    (tmp_path / "facts.json").write_text(record.stdout)
    for options in ([], ["--facts", str(tmp_path / "facts.json")]):
        completed = gonogo("check", "--format", "json", *options, env=env, timeout=HANG_GUARD)
        result = json.loads(completed.stdout)
        assert result["platform"]["id"] == "gb10"
        assert not [reason for reason in result["reasons"] if "GPU" in reason]


def test_nvml_that_hangs(facts: Facts) -> None:
    assert facts(nvml=("init.c", "-DHANGS"))["gpu"] == {"missing": "timed_out", "detail": "no answer within 2 s"}


def test_nvml_that_crashes(facts: Facts) -> None:
    # SIGSEGV is 11 (signal(7)).
    assert facts(nvml=("init.c", "-DCRASHES"))["gpu"] == {
        "missing": "failed",
        "detail": "its process was killed by signal 11",
    }


@pytest.mark.parametrize(
    "code, words",
    [(18, "RM has detected an NVML/RM version mismatch."), (9, "Driver Not Loaded"), (999, "Unknown Error")],
)
def test_nvml_that_fails(facts: Facts, code: int, words: str) -> None:
    # The words are NVML's own (nvmlErrorString), as pynvml has them.
    gpu = facts(nvml=("init.c", f"-DFAILS={code}"))["gpu"]
    assert gpu == {"source": "nvml", "devices": {"missing": "failed", "detail": words}}


def test_nvml_that_starts_and_knows_nothing_more(facts: Facts) -> None:
    # NVML_ERROR_FUNCTION_NOT_FOUND of every call, as from a library much older than its caller.
    gpu = facts(nvml=("init.c",))["gpu"]
    unknown = {"missing": "not_supported", "detail": "Function Not Found"}
    assert gpu == {"source": "nvml", "driver_version": unknown, "cuda_version": unknown, "devices": unknown}


def test_a_file_that_is_no_library(facts: Facts, gonogo: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "libnvidia-ml.so.1").write_bytes(b"\x7fELF and no more")
    completed = gonogo("record", env={"LD_LIBRARY_PATH": str(tmp_path / "broken")}, timeout=HANG_GUARD)
    gpu = json.loads(completed.stdout)["sections"]["gpu"]
    assert gpu["devices"]["missing"] == "failed"
    assert "file too short" in gpu["devices"]["detail"]  # the loader's words


@pytest.mark.parametrize("flag", ["-DHANGS", "-DCRASHES", "-DFAILS=18"])
def test_a_gpu_that_does_not_answer_is_no_go(gonogo: Callable[..., Any], tmp_path: Path, flag: str) -> None:
    env = {"LD_LIBRARY_PATH": str(build(tmp_path / "nvml", "init.c", flag))}
    completed = gonogo("check", "--format", "json", env=env, timeout=HANG_GUARD)
    result = json.loads(completed.stdout)
    assert (completed.returncode, result["verdict"]) == (1, "no-go")
    assert result["reasons"][0].startswith("the NVIDIA GPU does not answer: ")


# -- nvidia-smi, where there is no NVML -------------------------------------------------------------------------------

ROW = (
    "0, NVIDIA GB10, 0000000F:01:00.0, 0x2E1210DE, 12.1, 580.126.09, [N/A], [N/A], [N/A], 3.10, [N/A], 36, 208, 3003, "
    "[N/A], 0, P8, 0x0000000000000001"
)


@without_nvml
def test_neither_nvml_nor_nvidia_smi(facts: Facts) -> None:
    gpu = facts()["gpu"]
    assert gpu["missing"] == "not_found"
    assert gpu["detail"].endswith("; no nvidia-smi either")


@without_nvml
def test_nvidia_smi_that_hangs(facts: Facts) -> None:
    gpu = facts(nvidia_smi="sleep 60")["gpu"]
    assert gpu["source"] == "nvidia-smi"
    assert gpu["devices"]["missing"] == "timed_out"


@without_nvml
def test_nvidia_smi_that_hangs_with_a_grandchild(facts: Facts) -> None:
    gpu = facts(nvidia_smi="sleep 60 &\nsleep 60")["gpu"]
    assert gpu["devices"]["missing"] == "timed_out"


@without_nvml
def test_nvidia_smi_that_leaves_a_grandchild_holding_the_pipe(facts: Facts) -> None:
    # It answered: that somebody still has its output open changes nothing.
    gpu = facts(nvidia_smi=f"echo '{ROW}'\nsleep 60 &")["gpu"]
    assert [device["name"] for device in gpu["devices"]] == ["NVIDIA GB10"]
    assert gpu["driver_version"] == "580.126.09"
    empty = facts(nvidia_smi="sleep 60 &")["gpu"]
    assert empty["devices"] == {"missing": "failed", "detail": "nvidia-smi printed no table"}


@without_nvml
def test_nvidia_smi_that_fails_on_standard_output(facts: Facts) -> None:
    # The real one's words and status where the kernel module is not loaded.
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    gpu = facts(nvidia_smi=f'echo "{words} Make sure that it is running."\nexit 9')["gpu"]
    assert gpu["devices"]["missing"] == "failed"
    assert gpu["devices"]["detail"].startswith(f"nvidia-smi: {words}")


@without_nvml
def test_nvidia_smi_that_crashes_without_a_word(facts: Facts) -> None:
    gpu = facts(nvidia_smi="kill -SEGV $$")["gpu"]
    assert gpu["devices"] == {"missing": "failed", "detail": "nvidia-smi: killed by SIGSEGV"}


@without_nvml
def test_nvidia_smi_that_knows_nothing(facts: Facts) -> None:
    gpu = facts(nvidia_smi=f"echo '0{', [N/A]' * 17}'")["gpu"]
    assert gpu["driver_version"] == {"missing": "not_supported"}
    [device] = gpu["devices"]
    known = {name for name, value in device.items() if value != {"missing": "not_supported"}}
    assert known == {"device_index"}
    nothing = facts(nvidia_smi=f"echo '[N/A]{', [N/A]' * 17}'")["gpu"]
    assert nothing["devices"] == {"missing": "failed", "detail": "nvidia-smi printed no table"}


@without_nvml
def test_nvidia_smi_that_may_not_be_run(facts: Facts, tmp_path: Path) -> None:
    facts(nvidia_smi="true")
    (tmp_path / "programs" / "nvidia-smi").chmod(0o600)
    assert facts()["gpu"]["devices"]["missing"] == "permission_denied"
