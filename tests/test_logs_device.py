"""What machine a log is of. The lines are as programs print them; what each machine is, is public."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.logs import device
from gonogo.logs.matching import Matcher
from gonogo.logs.scanning import Scanner


def told(*lines: str) -> device.Device:
    matcher = Matcher(device.patterns())
    scanner = Scanner(matcher.literals, matcher.take)
    scanner.scan("log", ["\n".join(lines).encode()])
    matcher.next_file(scanner.lines_read)
    return device.told_by(matcher)


SPARK = [
    "Device 0: NVIDIA GB10, compute capability 12.1, VMM: yes",  # llama.cpp
    "| 0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |",  # nvidia-smi
    "NVRM: GPU at PCI:000f:01:00: GPU-5d1c",
    "Hardware name: NVIDIA NVIDIA_DGX_Spark/P4242, BIOS 5.36_0ACUM018",  # dmesg
    "ASUSTeK COMPUTER INC. GX10/GX10, BIOS GX10DGX.0101",
    "Config file not found at /opt/vllm/configs/E=128,N=768,device_name=NVIDIA_GB10.json",  # vLLM
    "device_name=NVIDIA_GB10,dtype=fp8_w8a8.json",
    "NVIDIA GB10 with CUDA capability sm_121 is not compatible with the current PyTorch installation.",
    "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.",
    "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
    "nvcc -gencode=arch=compute_121a,code=[sm_121a] -c x.cu",
    "torch.cuda.get_device_capability() -> capability (12, 1)",
    'level=INFO msg="skipping CUDA device" cc=1210',  # Ollama
    "NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE [RO]; OOB enp1s0f0np0:192.168.0.1<0>",
    "export NCCL_SOCKET_IFNAME=enP2p1s0f0np0",
]
CARDS = [
    "Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes",
    "NVIDIA H100 80GB HBM3",
    "Config file not found at configs/E=8,N=14336,device_name=NVIDIA_H100_80GB_HBM3.json",
    "device_name=NVIDIA_H200.json",
    "device_name=NVIDIA_A100-SXM4-80GB.json",
    "device_name=NVIDIA_L40S.json",
    "device_name=NVIDIA_GeForce_RTX_4090.json",
    "GPU 0: Tesla V100-SXM2-32GB (UUID: GPU-1)",
    "|   0  Tesla T4                       Off | 00000000:00:1E.0 Off |                    0 |",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "NVIDIA RTX A6000",
    "GPU 0: NVIDIA L4",
    "NVIDIA B200",
    "NVIDIA GH200 480GB",  # Arm, but with memory of its own
    "NVIDIA GB200",
    "Device: cuda:0 NVIDIA GeForce RTX 3060 : cudaMallocAsync",  # ComfyUI
]
NOBODY = [
    *(
        "",
        "CUDA error: out of memory",
        "Traceback (most recent call last):",
        "loss 12.1 step 121",
        "sm_120 sm_90 sm_100",
    ),
    *(
        "compute capability 12.0",
        "capability 8.6",
        "GB100",
        "RTX",
        "python3.12.1",
        "ATX10 H10 A10",
        "T400 L400",
        "MX100",
    ),
    *("linux-aarch64 wheel", "pip install torch --index-url https://example.org/whl/cu130", "used 3.2/7.5 GiB of disk"),
    *(
        "MemTotal:       65843216 kB",
        "x86_64",
        "Total VRAM",
        "0000:0f:01.0",
        "model E=128,N=768,device_name=AMD_MI300X",
    ),
]


@pytest.mark.parametrize("line", SPARK)
def test_marks_of_a_spark(line: str) -> None:
    found = told("first line", line)
    assert (found.memory, found.unified, found.spark, found.discrete) == ("unified", True, True, False)
    assert found.evidence is not None
    assert (found.evidence.number, found.evidence.text) == (2, line)


@pytest.mark.parametrize("line", CARDS)
def test_names_of_cards(line: str) -> None:
    found = told("first line", line)
    assert (found.memory, found.unified, found.spark, found.discrete) == ("discrete", False, False, True)
    assert found.evidence is not None
    assert found.evidence.text == line


@pytest.mark.parametrize("line", NOBODY)
def test_what_names_no_machine(line: str) -> None:
    assert told("first line", line) == device.Device()


@pytest.mark.parametrize(
    "line",
    ["NVIDIA Jetson AGX Orin Developer Kit", "GPU 0: NVIDIA Thor", "Model: NVIDIA Jetson Orin Nano", "Jetson AGX Thor"],
)
def test_a_jetson_shares_its_memory_and_is_no_spark(line: str) -> None:
    found = told(line)
    assert (found.unified, found.spark) == (True, False)
    # Where the log also bears a Spark's mark, that decides.
    assert told(line, "NVIDIA GB10").spark


@pytest.mark.parametrize(
    "named",
    [
        "ValueError: FlashMLA is only supported on Hopper (H100, H200)",
        "Minimum is an RTX 4090; see docs for A100",
        "TensorRT-LLM: FP8 block scaling is for GB200 and B200 only",
    ],
)
def test_a_spark_that_names_other_cards(named: str) -> None:
    # Messages say on which cards something works; the machine says what it is. So a Spark's mark decides, wherever.
    for lines in ((named, "NVIDIA GB10"), ("NVIDIA GB10", named)):
        assert told(*lines).spark


# -- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "memory"),
    [
        # A Spark's visible memory: 119.7 GiB with the firmware of 2025, 121.7 GiB with that of 2026 (GB10_FACTS).
        ("GPU 0 has a total capacity of 119.68 GiB of which 1.00 GiB is free.", "unified"),
        ("GPU 0 has a total capacty of 121.69 GiB of which 1.00 GiB is free.", "unified"),
        ("Tried to allocate 2.50 GiB (GPU 0; 119.70 GiB total capacity; 112.52 GiB already allocated)", "unified"),
        ("ValueError: Free memory on device cuda:0 (85.92/121.69 GiB) on startup is less than desired", "unified"),
        ("MemTotal:       125513472 kB", "unified"),  # 119.7 GiB
        ("MemTotal:       127600384 kB", "unified"),  # 121.7 GiB
        ("Total VRAM 122572 MB, total RAM 122572 MB", "unified"),
        ('msg="inference compute" id=GPU-1 library=CUDA total="119.7 GiB" available="110.2 GiB"', "unified"),
        # Cards: 23.5 GiB of an RTX 4090, 79.1 of an H100, 139.8 of an H200.
        ("GPU 0 has a total capacity of 23.52 GiB of which 1.00 GiB is free.", "discrete"),
        ("GPU 3 has a total capacity of 79.11 GiB of which 1.00 GiB is free.", "discrete"),
        ("ValueError: Free memory on device cuda:0 (12.18/139.80 GiB) on startup is less than desired", "discrete"),
        ("Tried to allocate 2.50 GiB (GPU 0; 23.65 GiB total capacity; 12.52 GiB already allocated)", "discrete"),
        # Of system memory alone nothing follows, but where it is a Spark's.
        ("MemTotal:       131583124 kB", ""),  # 125.5 GiB: a computer with 128 GB
        ("MemTotal:       32583124 kB", ""),
        ("GPU memory: (3.0/120.0 GiB)", "unified"),
        ("shard 3 (3.0/120.0 GiB)", ""),  # so far of a file
        ("loaded 3/80 GiB", ""),
        ("GPU cache 0.5/3.9 GiB", ""),
    ],
)
def test_sizes(line: str, memory: str) -> None:
    assert told(line).memory == memory


def test_a_name_goes_before_a_size() -> None:
    assert told("total capacity of 121.69 GiB", "NVIDIA H100 80GB HBM3").discrete
    assert told("GPU 0 has a total capacity of 79.11 GiB", "NVIDIA GB10").unified


def test_a_large_pool_goes_before_a_small_one() -> None:
    # Cgroup limits and fractions of the pool are smaller than it.
    assert told("GPU 0 has a total capacity of 60.00 GiB", "GPU 0 has a total capacity of 121.69 GiB").unified


def test_memory_of_an_ordinary_computer() -> None:
    # A cloud machine with 120 GiB and no Arm.
    assert told("Linux vm 6.8.0 x86_64", "MemTotal:       125829120 kB") == device.Device()
    assert told("Linux spark 6.17.0 aarch64", "MemTotal:       125829120 kB").unified
    # Where the figure is the GPU's own, the processor does not matter: no card has as much.
    assert told("x86_64", "GPU 0 has a total capacity of 121.69 GiB").unified


# -- CPU and CUDA together --------------------------------------------------------------------------------------------


def test_arm_with_cuda_13() -> None:
    # GOTCHAS: "aarch64 with cu130" is a mark of unified memory where no device is named.
    assert told("Platform: Linux-6.17-aarch64", "torch 2.9.1+cu130").unified
    assert told("arm64", "| NVIDIA-SMI 580.95  Driver Version: 580.95  CUDA Version: 13.0 |").unified
    for lines in (("aarch64",), ("torch 2.9.1+cu130",), ("x86_64", "cu130"), ("aarch64", "torch 2.7.0+cu128")):
        assert told(*lines) == device.Device()
    assert told("aarch64", "cu130", "NVIDIA GH200 480GB").discrete
    assert told("aarch64", "cu130", "GPU 0 has a total capacity of 94.5 GiB").discrete


# -- as a whole -------------------------------------------------------------------------------------------------------


def test_every_match_of_a_mark_holds_one_of_its_literals() -> None:
    # They are given by hand there; the lines above are the sample, whole and in their parts.
    for line in SPARK + CARDS:
        for pattern, literals in device.patterns():
            if re.search(pattern, line):
                assert any(literal in line for literal in literals), (pattern, line)


def test_figures_too_large_for_any_machine() -> None:
    for form in ("MemTotal: {} kB", "Total VRAM {} MB", "GPU 0 has a total capacity of {} GiB", 'total="{} GiB"'):
        assert told(form.format("9" * 400)) in (device.Device(), told(form.format("9" * 9)))


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    assert told(text).memory in ("", "unified", "discrete")
