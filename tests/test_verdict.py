"""What must not end in a plain go: lost GPUs, dropped plans, interpreters that do not answer; and first steps for each.

Expected verdicts: docs/contract.md. The texts of nvidia-smi and NVML are the programs' own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gonogo.node import nvidia_smi
from gonogo.node.facts.codec import decode
from gonogo.plan import Plan
from gonogo.preflight import Preflight, Request, judge

GIB = 1 << 30
LOST = {"missing": "failed", "detail": "GPU is lost"}
DEAD = dict.fromkeys(
    ["name", "compute_capability", "temperature_celsius", "utilization_gpu_percent", "power_watts", "clock_sm_mhz"],
    LOST,
)


@pytest.fixture
def judged(spark: Callable[..., dict[str, Any]]) -> Callable[..., Preflight]:
    def outcome(request: Request | None = None, **changes: Any) -> Preflight:
        return judge(decode(spark(**changes)), request or Request())

    return outcome


def need(gib: int, platform: str | None = None) -> Request:
    return Request(platform, Plan(gib * GIB))


def test_a_lost_gpu_is_no_go(judged: Callable[..., Preflight]) -> None:
    outcome = judged(gpu={"devices": [{"device_index": 0, **DEAD}]})
    assert outcome.verdict == "no-go"
    assert outcome.reasons[0] == "the NVIDIA GPU does not answer: failed: GPU is lost"


def test_one_lost_gpu_of_two_is_a_warning(judged: Callable[..., Preflight]) -> None:
    healthy = {"device_index": 0, "name": "NVIDIA GB10", "compute_capability": "12.1", "temperature_celsius": 40}
    outcome = judged(gpu={"devices": [healthy, {"device_index": 1, **DEAD}]})
    assert outcome.verdict == "go-with-warnings"
    assert "GPU 1 does not answer: failed: GPU is lost" in outcome.reasons


def test_nvidia_smi_says_that_a_gpu_is_lost() -> None:
    cells = ["0", *["[GPU is lost]"] * (len(nvidia_smi.PROPERTIES) - 1)]
    [(driver, device)] = nvidia_smi.parse(", ".join(cells))
    assert str(driver) == str(device.name) == str(device.temperature_celsius) == "failed: GPU is lost"


@pytest.mark.parametrize(
    "changes",
    [
        {"memory": {"available_bytes": {"missing": "permission_denied"}}},
        {"memory": {"total_bytes": 100 * GIB, "available_bytes": 200 * GIB}},
    ],
    ids=["unreadable", "impossible"],
)
def test_a_plan_is_never_dropped_without_a_word(judged: Callable[..., Preflight], changes: dict[str, Any]) -> None:
    outcome = judged(need(70), **changes)
    assert outcome.verdict != "go"


def test_a_plan_for_a_card_that_is_not_here_could_not_be_judged(judged: Callable[..., Preflight]) -> None:
    outcome = judged(need(40, "rtx-5090"))
    assert [item.code for item in outcome.of("G3") if item.status == "WARN"] == ["G3.plan-not-judged"]


def test_a_plan_that_only_swap_can_hold_is_a_warning(judged: Callable[..., Preflight]) -> None:
    # 100 GiB available and 16 of swap: 110 fit by NVIDIA's formula, ten of them on the disk.
    memory = {"available_bytes": 100 * GIB, "swap_total_bytes": 16 * GIB, "swap_free_bytes": 16 * GIB}
    outcome = judged(need(110), memory=memory)
    [finding] = [item for item in outcome.of("G3") if item.status == "WARN"]
    assert (finding.code, outcome.verdict) == ("G3.plan-needs-swap", "go-with-warnings")
    assert "needs 10.0 GiB of swap" in finding.message


def test_huge_pages_are_named_as_what_can_be_given_back(judged: Callable[..., Preflight]) -> None:
    memory = {"huge_pages_total": 64, "huge_pages_free": 64, "huge_page_size_bytes": 2 << 20}
    [finding] = [item for item in judged(need(20), memory=memory).of("G3") if item.status == "FAIL"]
    assert any("vm.nr_hugepages=0" in step.step and step.undo.endswith("=64") for step in finding.fix)


def test_a_torch_whose_cuda_was_not_read_is_not_called_cpu_only(judged: Callable[..., Preflight]) -> None:
    outcome = judged(python={"torch": {"folder": "/x/torch", "version": "2.9.1", "cuda": {"missing": "failed"}}})
    assert [(item.code, item.status) for item in outcome.of("G12")] == [("G12.unreadable", "UNKNOWN")]
    assert next(item.status for item in outcome.of("G1")) == "UNKNOWN"


def test_an_interpreter_that_does_not_answer_is_no_plain_go(judged: Callable[..., Preflight]) -> None:
    outcome = judged(python={"start": {"missing": "failed", "detail": "killed by SIGSEGV"}})
    assert outcome.verdict == "go-with-warnings"
    assert "the judged interpreter did not answer: killed by SIGSEGV" in outcome.reasons


@pytest.mark.parametrize(
    ("why", "first"),
    [
        ({"missing": "failed", "detail": "RM has detected an NVML/RM version mismatch."}, "reboot"),
        # Reading first: it changes nothing.
        ({"missing": "failed", "detail": "Driver Not Loaded"}, "read what the kernel says"),
        ({"missing": "timed_out", "detail": "no answer within 2 s"}, "read what the kernel says"),
    ],
    ids=["mismatch", "not loaded", "hangs"],
)
def test_a_silent_driver_says_what_to_do_first(judged: Callable[..., Preflight], why: Any, first: str) -> None:
    outcome = judged(gpu={"devices": why}, driver={"kernel_module_version": {"missing": "not_found"}})
    [finding] = outcome.of("G4")
    assert (finding.code, finding.status, outcome.verdict) == ("G4.no-answer", "UNKNOWN", "no-go")
    assert finding.fix[0].step.startswith(first)


@pytest.mark.parametrize(
    "device",
    [
        {"temperature_celsius": 10000},
        {"power_watts": -4.0},
        {"utilization_gpu_percent": 400},
        {"event_reasons_active": {"missing": "permission_denied"}, "temperature_celsius": 95},
    ],
)
def test_no_pass_on_what_cannot_be_or_was_not_read(judged: Callable[..., Preflight], device: dict[str, Any]) -> None:
    busy = {"device_index": 0, "name": "NVIDIA GB10", "compute_capability": "12.1", "power_watts": 90.0}
    busy |= {"temperature_celsius": 70, "utilization_gpu_percent": 98, "clock_sm_mhz": 2400, "event_reasons_active": []}
    outcome = judged(gpu={"devices": [busy | device]})
    assert {item.status for item in outcome.of("G4")} <= {"INFO", "UNKNOWN"}


def test_seventy_bytes_are_no_plan(gonogo: Callable[..., Any]) -> None:
    completed = gonogo("check", "--need", "70")
    assert completed.returncode == 2 and "70GiB" in completed.stderr


def test_an_interrupt_leaves_no_program_behind(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 1000\n")
    python.chmod(0o755)
    command = [sys.executable, "-m", "gonogo", "check", "--python", str(python)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        _until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip() != "")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[1] == "gonogo check: interrupted\n"
    assert process.returncode == 130
    pid = int((tmp_path / "pid").read_text())
    _until(lambda: not _alive(pid))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _until(met: Callable[[], bool]) -> None:
    for _ in range(400):
        if met():
            return
        time.sleep(0.05)
    raise AssertionError("not within 20 s")


def test_secrets_that_an_interpreter_prints_are_masked() -> None:
    from gonogo.node.facts.redaction import Redactor

    text = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI password=hunter22 hidden"
    assert Redactor().text(text) == "AWS_SECRET_ACCESS_KEY=xxxxxxxxxxxxx password=xxxxxxxx hidden"
