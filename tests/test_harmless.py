"""What the field rules list as harmless: added to any healthy Spark, it never gives WARN or FAIL.

The list is the section "Harmless, say so when asked, never warn" with the suppressions of the published figures. What
exists as a fact is set as a fact; what is a line of a log is put where facts carry text: what the interpreter prints at
start-up, and the journal's last lines.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from machine_stories import Story, devices_of, load_all

from gonogo.finding import WARN, rank
from gonogo.node.facts.codec import decode
from gonogo.preflight import judge

Sections = dict[str, Any]
HEALTHY = [s for s in load_all() if s.expected.platform == "gb10" and s.healthy and s.expected.verdict == "go"]
NOT_SUPPORTED = {"missing": "not_supported"}
GIB = 1 << 30


def line(text: str) -> Callable[[Sections], None]:
    """The line as the interpreter's noise, and as the last of the previous boot."""

    def add(sections: Sections) -> None:
        if isinstance(sections.get("python"), dict) and "executable" in sections["python"]:
            sections["python"]["noise"] = text
        if isinstance(sections.get("boots"), dict) and "recent" in sections["boots"]:
            before = sections["boots"].get("journal_end")
            sections["boots"]["journal_end"] = [*(before if isinstance(before, list) else []), text]

    return add


def on_gpu(**fields: Any) -> Callable[[Sections], None]:
    def change(sections: Sections) -> None:
        for device in devices_of({"sections": sections}):
            device.update(fields)

    return change


def variable(name: str, value: str) -> Callable[[Sections], None]:
    def change(sections: Sections) -> None:
        sections.setdefault("launch", {}).setdefault("variables", {})[name] = value

    return change


def in_memory(**fields: Any) -> Callable[[Sections], None]:
    return lambda sections: sections["memory"].update(fields)


def toolkit(sections: Sections) -> None:
    sections.setdefault("cuda", {})["toolkit_version"] = "12.8.1"


HARMLESS: dict[str, Callable[[Sections], None]] = {
    "capability-warning": line(
        "UserWarning: Found GPU0 NVIDIA GB10 which is of cuda capability 12.1. "
        "Minimum and Maximum cuda capability supported by this version of PyTorch is (8.0) - (12.0)"
    ),
    "arch-list": line("['sm_80', 'sm_90', 'sm_100', 'sm_110', 'sm_120', 'compute_120']"),
    "nvml-not-supported": on_gpu(
        memory_total_bytes=NOT_SUPPORTED,
        memory_free_bytes=NOT_SUPPORTED,
        memory_used_bytes=NOT_SUPPORTED,
        power_limit_watts=NOT_SUPPORTED,
        clock_memory_mhz=NOT_SUPPORTED,
        mig_enabled=NOT_SUPPORTED,
        temperature_margin_celsius=NOT_SUPPORTED,
    ),
    "pcie-gen1-x1": line("GPU Link Info: PCIe Generation Current: 1, Link Width Current: 1x"),
    "mlx5-27-watts": line(
        "mlx5_core 0000:01:00.0: mlx5_pcie_event:301:(pid 9): Detected insufficient power on the PCIe slot (27W)."
    ),
    "gdr-0": variable("NCCL_NET_GDR_LEVEL", "0"),
    "gdr-0-line": line("NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE ; GPU Direct RDMA Disabled for HCA 0, GDR 0"),
    # 60 GiB that are given back on demand: MemAvailable does not change.
    "large-page-cache": in_memory(free_bytes=2 * GIB, cached_bytes=60 * GIB),
    "toolkit-is-not-the-runtime": toolkit,
    # 173 s in 10^9 (ollama/ollama#13552): history since the driver was loaded.
    "thermal-counters": on_gpu(
        event_reason_nanoseconds={
            "sw_power_cap": 1369 * 10**9,
            "sw_thermal_slowdown": 173 * 10**9,
            "hw_thermal_slowdown": 5 * 10**9,
            "hw_power_brake_slowdown": 0,
        }
    ),
    "no-native-fp4": line(
        "Your GPU does not have native support for FP4 computation but FP4 quantization is being used."
    ),
    "ollama-skips-a-library": line('msg="skipping available library at user\'s request" requested=cuda_v13 libDirs=[]'),
    "symm-mem": line(
        "WARNING SymmMemCommunicator: Device capability 12.1 not supported, communicator is not available."
    ),
    "ray-reserved-gpus": line(
        "tensor_parallel_size=2 is bigger than a reserved number of GPUs (1 GPUs) in a node 1a2b. Tensor parallel "
        "workers can be spread out to 2+ nodes which can degrade the performance unless you have fast interconnect."
    ),
    "nv-err-no-memory": line("NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)"),
    "forward-compatibility-note": line(
        "NOTE: CUDA Forward Compatibility mode ENABLED. Using CUDA 13.1 driver version 590.48.01 with kernel driver "
        "version 580.95.05."
    ),
    "built-for-a-newer-driver-then-enabled": line(
        "ERROR: This container was built for NVIDIA Driver Release 595.45 or later, but version 580.142 was detected"
    ),
}


def changed(story: Story, *changes: Callable[[Sections], None]) -> Any:
    document = copy.deepcopy(story.document)
    for change in changes:
        change(document["sections"])
    return judge(decode(document), story.request)


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.parametrize("story", HEALTHY, ids=lambda story: story.name)
def test_it_never_warns(story: Story, name: str) -> None:
    preflight = changed(story, HARMLESS[name])
    grave = [f"{item.code}: {item.message}" for item in preflight.findings if rank(item.status) >= rank(WARN)]
    assert not grave
    assert preflight.verdict == "go"


@pytest.mark.parametrize("story", HEALTHY, ids=lambda story: story.name)
def test_all_of_it_at_once(story: Story) -> None:
    assert changed(story, *HARMLESS.values()).verdict == "go"


def test_the_software_power_cap_under_full_load_is_normal() -> None:
    loaded = next(story for story in HEALTHY if story.name == "spark-healthy-load")
    assert changed(loaded, on_gpu(event_reasons_active=["sw_power_cap"], utilization_gpu_percent=100)).verdict == "go"
