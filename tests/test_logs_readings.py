"""Figures in a log as partial facts: meminfo, free, variables of launchers, what collect_env printed.

Oracles: free and /proc/meminfo of this machine, bash, the formats in torch's and vLLM's collect_env.py.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.logs.device import Device
from gonogo.logs.readings import environment, memory, partial
from gonogo.logs.scanning import Line
from gonogo.node.facts.missing import NOT_FOUND, UNCOLLECTED, Missing
from gonogo.node.facts.sections.gpu import Gpu
from gonogo.node.facts.sections.memory import Memory
from gonogo.node.facts.sections.python import Python, Torch

GIB = 1 << 30


def lines(text: str) -> list[Line]:
    return [Line("log", number, row, frozenset()) for number, row in enumerate(text.split("\n"), 1)]


def section(text: str) -> dict[str, Any]:
    return memory.section(lines(text))[0]


def variables(text: str) -> dict[str, str]:
    return environment.variables(lines(text))[0]


# -- memory -----------------------------------------------------------------------------------------------------------


def test_meminfo_of_this_machine() -> None:
    found, places = memory.section(lines(Path("/proc/meminfo").read_text()))
    free = subprocess.check_output(["free", "-b"], text=True, env={"LC_ALL": "C"}).splitlines()
    assert found["total_bytes"] == int(free[1].split()[1])
    assert found["swap_total_bytes"] == int(free[2].split()[1])
    assert 0 < found["available_bytes"] < found["total_bytes"]
    assert found["huge_pages_total"] == int(Path("/proc/sys/vm/nr_hugepages").read_text())
    assert Memory(**found)
    assert 0 in places  # MemTotal is its first line


def test_free_of_this_machine() -> None:
    text = subprocess.check_output(["free", "-h"], text=True, env={"LC_ALL": "C"})
    total = int(subprocess.check_output(["free", "-b"], text=True).splitlines()[1].split()[1])
    found, places = memory.section(lines(text))
    assert found["total_bytes"] == pytest.approx(total, rel=0.06)  # two digits of it are shown
    assert found["swap_free_bytes"] <= found["swap_total_bytes"]
    assert places == [1, 2]


def test_meminfo_by_hand() -> None:
    # Of a Spark: 119.7 GiB; with prefixes, as container logs and ssh loops write it.
    found = section(
        "node0: MemTotal:       125513472 kB\nnode0: MemFree:          1024 kB\n[1] MemAvailable:   104857600 kB\n"
        "Cached:         83886080 kB\nSwapCached:     77 kB\nSwapTotal:      16777212 kB\nSwapFree:              0 kB\n"
        "HugePages_Total:      12\nHugePages_Free:       10\nHugepagesize:       2048 kB\n"
        "CmaTotal:  65536 kB\nCmaFree: 4 kB"
    )
    assert found == {
        "total_bytes": 125513472 * 1024,
        "free_bytes": 1 << 20,
        "available_bytes": 100 * GIB,
        "cached_bytes": 80 * GIB,
        "swap_total_bytes": 16777212 * 1024,
        "swap_free_bytes": 0,
        "huge_pages_total": 12,
        "huge_pages_free": 10,
        "huge_page_size_bytes": 2 << 20,
        "cma_total_bytes": 64 << 20,
        "cma_free_bytes": 4096,
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("guard: MemAvailable: 7.5 GiB below 8 GiB", {"available_bytes": int(7.5 * GIB)}),
        ("MemAvailable: 512 MB", {"available_bytes": 512 << 20}),
        ("MemTotal: 1 kB MemFree: 2 kB", {"total_bytes": 1024, "free_bytes": 2048}),
        ("MemTotal: 5 kB\nMemTotal: 9 kB", {"total_bytes": 5120}),  # the first of each
        ("MemTotal: 125513472", {}),  # of what unit?
        ("MemTotal:", {}),
        ("MemTotal:       1255134", {}),  # cut off in the middle
        ("Cached: 3 packages", {}),
        ("MemTotal: -5 kB", {}),
        (f"MemTotal: {'9' * 400} kB", {}),
        (f"Mem: {'9' * 400}Gi 12Gi 1Gi 8Mi 105Gi 106Gi", {}),
        # free -h
        (
            "Mem:           119Gi        12Gi       1.5Gi       8.0Mi       105Gi       106Gi",
            {
                "total_bytes": 119 * GIB,
                "free_bytes": int(1.5 * GIB),
                "shared_bytes": 8 << 20,
                "available_bytes": 106 * GIB,
            },
        ),
        ("Swap:           15Gi       1.0Gi        14Gi", {"swap_total_bytes": 15 * GIB, "swap_free_bytes": 14 * GIB}),
        ("Swap:             0B          0B          0B", {"swap_total_bytes": 0, "swap_free_bytes": 0}),
        ("host1 | Mem:  119G  12G  1G  8M  105G  106G  ", {"total_bytes": 119 * GIB, "free_bytes": GIB}),
        # free -g, -m and without: bare numbers of an unknown unit
        ("Mem:             119          12           1           0         105         106", {}),
        ("Mem:       125513472    12582912     1048576        8192   110100480   111149056", {}),
        ("Swap:              0           0           0", {}),
        ("Mem:           119Gi        12Gi", {}),  # cut off
        ("Mem:           119Gi        12Gi       1.5Gi       8.0Mi", {}),
        ("Mem:           119Gi        12Gi       1.5Gi and more", {}),
        ("Mem: usage is 119Gi", {}),
    ],
)
def test_figures_of_memory(text: str, found: dict[str, int]) -> None:
    assert section(text).items() >= found.items()
    assert bool(section(text)) is bool(found)


def test_a_row_of_digits_takes_no_time() -> None:
    # What could be split in many ways was, for minutes; a hang is what would show it again.
    for row in ("1" * 4000, "1 " * 2000, "1Gi" * 1300, "1.1" * 1300, " " * 4000):
        assert section(f"Mem: {row}x") == {}


@given(st.text(alphabet="Mem: \t0123456789.GiBkTotalSwapFree", max_size=120))
def test_any_text_gives_sizes_or_nothing(text: str) -> None:
    assert all(isinstance(value, int) and value >= 0 for value in section(f"Mem: {text}").values())


# -- variables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("export NCCL_IB_DISABLE=1", {"NCCL_IB_DISABLE": "1"}),
        ('export NCCL_IB_HCA="rocep1s0f0,roceP2p1s0f0"', {"NCCL_IB_HCA": "rocep1s0f0,roceP2p1s0f0"}),
        ("NCCL_SOCKET_IFNAME='=enp1s0f0np0' torchrun x.py", {"NCCL_SOCKET_IFNAME": "=enp1s0f0np0"}),
        (
            "NCCL_IB_DISABLE=1 NCCL_DEBUG=INFO NCCL_NET=IB python x",
            {"NCCL_IB_DISABLE": "1", "NCCL_DEBUG": "INFO", "NCCL_NET": "IB"},
        ),
        ("docker run -e NCCL_IB_HCA=mlx5_0 -e 'NCCL_DEBUG=INFO' img", {"NCCL_IB_HCA": "mlx5_0", "NCCL_DEBUG": "INFO"}),
        ("mpirun -x NCCL_IB_GID_INDEX=3 -np 2", {"NCCL_IB_GID_INDEX": "3"}),
        ("ENV NCCL_NET_GDR_LEVEL=5", {"NCCL_NET_GDR_LEVEL": "5"}),
        (
            "    environment:\n      - NCCL_IB_DISABLE=1\n      - WORLD_SIZE=2",
            {"NCCL_IB_DISABLE": "1", "WORLD_SIZE": "2"},
        ),
        (
            '      NCCL_IB_DISABLE: "1"\n      NCCL_IB_HCA: rocep1s0f0',
            {"NCCL_IB_DISABLE": "1", "NCCL_IB_HCA": "rocep1s0f0"},
        ),
        ("(worker pid=3) NCCL_IB_TIMEOUT=22", {"NCCL_IB_TIMEOUT": "22"}),
        ('declare -x CUDA_VISIBLE_DEVICES="0"', {"CUDA_VISIBLE_DEVICES": "0"}),
        ("NCCL_IB_DISABLE=0\nNCCL_IB_DISABLE=1", {"NCCL_IB_DISABLE": "1"}),  # the last of each
        ("NCCL_IB_HCA=", {"NCCL_IB_HCA": ""}),
        # nothing is set by these
        ("# export NCCL_IB_DISABLE=1", {}),
        ("   #NCCL_IB_DISABLE=1", {}),
        ("      # NCCL_IB_DISABLE: 1", {}),
        ("torchrun x.py # NCCL_IB_DISABLE=1 was needed once", {}),
        ("For debugging consider passing CUDA_LAUNCH_BLOCKING=1", {}),  # each CUDA error of torch says so
        ("hint: try NCCL_IB_DISABLE=1", {}),
        ("you can set NCCL_IB_DISABLE=1 to use sockets", {}),
        ("NCCL_IB_HCA=$HCA", {}),
        ("NCCL_IB_HCA=${HCA:-mlx5}", {}),
        ("NCCL_SOCKET_IFNAME=<your interface>", {}),
        ("MY_NCCL_IB_DISABLE=1", {}),
        ("PATH=/usr/bin HOME=/home/me EDITOR=vi", {}),
        ("NCCL_IB_DISABLE is 1 here: NCCL_IB_DISABLE: yes or no", {}),
        ("HF_TOKEN=abc WANDB_API_KEY=abc NCCL_SECRET_KEY=abc", {}),
    ],
)
def test_variables(text: str, found: dict[str, str]) -> None:
    assert variables(text) == found


def test_variables_as_bash_prints_them(tmp_path: Path) -> None:
    wanted = {"NCCL_IB_HCA": "rocep1s0f0:1,roceP2p1s0f0:1", "NCCL_SOCKET_IFNAME": "^lo,docker0", "WORLD_SIZE": "2"}
    for command in ("env", "export -p", "declare -x"):
        printed = subprocess.check_output(["bash", "-c", command], env={**wanted, "PATH": "/usr/bin:/bin"}, text=True)
        assert variables(printed) == wanted
    script = "set -x\n" + "\n".join(f"export {name}='{value}'" for name, value in wanted.items())
    traced = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env={"PATH": "/bin"})
    assert variables(traced.stderr) == wanted


@given(st.text(max_size=300))
def test_variables_of_any_text(text: str) -> None:
    for name, value in variables(f"NCCL_X={text}").items():
        assert name.isidentifier()
        assert len(value) <= 100


# -- torch's collect_env ----------------------------------------------------------------------------------------------

COLLECTED = """\
Collecting environment information...
PyTorch version: {version}
Is debug build: False
CUDA used to build PyTorch: {cuda}
ROCM used to build PyTorch: N/A

OS: Ubuntu 24.04.3 LTS (aarch64)
Python version: 3.12.3 (main, Aug 14 2026, 17:47:21) [GCC 13.3.0] (64-bit runtime)
Is CUDA available: True
CUDA runtime version: 13.0.88
GPU models and configuration: {gpus}
Nvidia driver version: {driver}
cuDNN version: Could not collect

Versions of relevant libraries:
[pip3] torch==2.9.1
"""
#: vLLM's own: wider, with headings.
OF_VLLM = """\
==============================
       PyTorch Info
==============================
PyTorch version              : {version}
Is debug build               : False
CUDA used to build PyTorch   : {cuda}
ROCM used to build PyTorch   : N/A
==============================
GPU models and configuration : {gpus}
Nvidia driver version        : {driver}
"""


@pytest.mark.parametrize("form", [COLLECTED, OF_VLLM])
def test_collect_env(form: str) -> None:
    text = form.format(version="2.9.1+cu130", cuda="13.0", gpus="GPU 0: NVIDIA GB10", driver="580.95.05")
    found, places = environment.torch_environment(lines(text))
    assert found == {"version": "2.9.1+cu130", "cuda": "13.0", "driver": "580.95.05", "names": {0: "NVIDIA GB10"}}
    assert all("PyTorch" in text.split("\n")[place] or "vidia" in text.split("\n")[place].lower() for place in places)
    # In a large log its lines are found by these.
    for place in places:
        assert any(literal in text.split("\n")[place] for literal in environment.LITERALS)
    several = "\nGPU 0: NVIDIA H100 80GB HBM3\nGPU 1: NVIDIA A100-SXM4-80GB\n"
    text = form.format(version="2.11.0a0+b558c986e8.nv25.11", cuda="12.8", gpus=several, driver="Could not collect")
    found, _ = environment.torch_environment(lines(text))
    assert found["version"] == "2.11.0a0+b558c986e8.nv25.11"
    assert found["names"] == {0: "NVIDIA H100 80GB HBM3", 1: "NVIDIA A100-SXM4-80GB"}
    assert "driver" not in found


@pytest.mark.parametrize(
    ("version", "cuda", "fact"),
    [
        ("2.9.1+cu130", "13.0", "13.0"),
        ("1.3.1", "10.1.243", "10.1"),
        ("2.13.0+cpu", "Could not collect", Missing(NOT_FOUND)),  # as 2.13 prints it for a build without CUDA
        ("2.9.1", "None", Missing(NOT_FOUND)),
        ("2.9.1+cpu", "N/A", Missing(NOT_FOUND)),
        ("2.9.1+rocm6.4", "N/A", UNCOLLECTED),
    ],
)
def test_the_build_as_facts(version: str, cuda: str, fact: object) -> None:
    text = COLLECTED.format(version=version, cuda=cuda, gpus="GPU 0: NVIDIA GB10", driver="580.95.05")
    read = partial.read(lines(text), Device())
    python, gpu = read.sections["python"], read.sections["gpu"]
    assert isinstance(python, Python)
    assert isinstance(python.torch, Torch)
    assert (python.torch.version, python.torch.cuda) == (version, fact)
    assert isinstance(gpu, Gpu)
    assert gpu.driver_version == "580.95.05"
    assert read.lines["python"][0].number == 2
    assert set(read.sections) == {"python", "gpu"}


def test_no_torch_there() -> None:
    # collect_env then prints N/A for all of it.
    text = COLLECTED.format(version="N/A", cuda="N/A", gpus="GPU 0: NVIDIA GB10", driver="580.95.05")
    assert environment.torch_environment(lines(text)) == ({}, [])
    assert partial.read(lines(text), Device()).sections == {}


# -- all of it --------------------------------------------------------------------------------------------------------


def test_partial_facts_and_their_lines() -> None:
    read = partial.read(lines("a\nMemTotal: 4 kB\nb\nNCCL_IB_DISABLE=1\nPyTorch version: 2.9.1\nz"), Device("unified"))
    assert {name: [line.number for line in rows] for name, rows in read.lines.items()} == {
        **{"memory": [2], "launch": [4], "python": [5], "identity": []}
    }
    assert read.sections["memory"] == Memory(total_bytes=4096)
    assert read.sections["launch"].variables == {"NCCL_IB_DISABLE": "1"}
    assert read.sections["identity"] == partial.SPARK
    for device in (Device("discrete"), Device(""), Device("unified", None, other=True)):
        assert "identity" not in partial.read(lines("x"), device).sections
    assert partial.read([], Device()) == partial.Partial({}, {})
