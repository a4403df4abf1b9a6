"""The driver's two halves and the CUDA libraries, on roots made by hand. Expected values are the files' own."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_host import host, reason
from made_loader_cache import AARCH64, I386, X86_64, cache

from gonogo.node.collect import cuda, driver
from gonogo.node.facts.missing import FAILED, NOT_FOUND, Missing
from gonogo.node.facts.sections.cuda import Cuda, Library
from gonogo.node.facts.sections.driver import Driver

OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.126.09  Release Build  "
    "(dvs-builder@U22-I3-AM02-24-3)  Wed Jan  7 22:33:56 UTC 2026\n"
    "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)\n"
)
CLOSED = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version: 12.3.0\n"
)
LIBRARIES = "/usr/lib/aarch64-linux-gnu"


def test_driver_of_a_spark(tmp_path: Path) -> None:
    rows = [("libcuda.so.1", f"{LIBRARIES}/libcuda.so.1", AARCH64), ("libcuda.so.1", "/opt/x86/libcuda.so.1", X86_64)]
    machine = host(
        tmp_path.resolve(),
        {
            "/proc/driver/nvidia/version": OPEN,
            "/dev/nvidiactl": "",
            "/etc/ld.so.cache": cache(rows[::-1]),
            f"{LIBRARIES}/libcuda.so.580.126.09": "",
            "/opt/x86/libcuda.so.1": "",
        },
        machine="aarch64",
    )
    (tmp_path / LIBRARIES[1:] / "libcuda.so.1").symlink_to("libcuda.so.580.126.09")
    assert driver.collect(machine) == Driver(
        kernel_module_version="580.126.09",
        kernel_module_open=True,
        libcuda_path=f"{LIBRARIES}/libcuda.so.580.126.09",
        libcuda_version="580.126.09",
        device_nodes=True,
        compatibility_library_path=Missing(NOT_FOUND),
        compatibility_library_version=Missing(NOT_FOUND),
    )
    # Forward compatibility: the container's own libcuda comes first (ld.so(8): LD_LIBRARY_PATH before the cache).
    compat = host(tmp_path, {"/compat/libcuda.so.590.48.01": ""}, machine="aarch64")
    (tmp_path / "compat" / "libcuda.so.1").symlink_to("libcuda.so.590.48.01")
    ahead = driver.collect(compat._replace(environment={"LD_LIBRARY_PATH": "relative::/none:/compat/"}))
    assert (ahead.libcuda_version, ahead.kernel_module_version) == ("590.48.01", "580.126.09")


def test_driver_that_is_closed_or_not_there(tmp_path: Path) -> None:
    closed = driver.collect(
        host(tmp_path / "a", {"/proc/driver/nvidia/version": CLOSED, "/sys/module/nvidia/version": "550.54.15\n"})
    )
    assert (closed.kernel_module_version, closed.kernel_module_open) == ("550.54.15", False)
    none = driver.collect(host(tmp_path / "b"))
    assert {reason(fact) for fact in none[:4]} == {NOT_FOUND} and none.device_nodes is False
    odd = driver.collect(
        host(tmp_path / "c", {"/proc/driver/nvidia/version": "NVRM: what?\n", "/usr/lib/libcuda.so.1": ""})
    )
    assert reason(odd.kernel_module_version) == FAILED
    assert odd.libcuda_path == "/usr/lib/libcuda.so.1" and reason(odd.libcuda_version) == NOT_FOUND


def test_cuda_libraries_in_the_loaders_order(tmp_path: Path) -> None:
    rows = [
        ("libcudart.so.13", "/cuda/lib/libcudart.so.13", AARCH64),
        ("libcudart.so.12", "/cuda12/libcudart.so.12", AARCH64),
        ("libcudart.so.11.0", "/gone/libcudart.so.11.0", AARCH64),
        ("libcudart.so.12", "/x86/libcudart.so.12", X86_64),
        ("libcudart.so.12", "/i386/libcudart.so.12", I386),
        ("libcudart.so", "/cuda/lib/libcudart.so", AARCH64),
    ]
    present = [path for _, path, _ in rows if "gone" not in path]
    files: dict[str, str | bytes | None] = dict.fromkeys(
        [*present, "/first/libcudart.so.13", "/first/libcudart.so.13.0.96", "/usr/lib/libcudart.so.11.0", "/first/x"],
        "",
    )
    version = '{"cuda": {"name": "CUDA SDK", "version": "13.0.20250819"}}'
    machine = host(
        tmp_path, {**files, "/etc/ld.so.cache": cache(rows), "/usr/local/cuda/version.json": version}, machine="aarch64"
    )
    facts = cuda.collect(machine._replace(environment={"LD_LIBRARY_PATH": "/first:/none"}))
    assert facts == Cuda(
        loadable=(
            Library("libcudart.so.13", "/first/libcudart.so.13", "LD_LIBRARY_PATH"),
            Library("libcudart.so.12", "/cuda12/libcudart.so.12", "loader cache"),
            Library("libcudart.so.11.0", "/usr/lib/libcudart.so.11.0", "default folder"),
        ),
        registered=(
            Library("libcudart.so.13", "/cuda/lib/libcudart.so.13", "loader cache"),
            Library("libcudart.so.12", "/cuda12/libcudart.so.12", "loader cache"),
        ),
        toolkit_version="13.0.20250819",
    )


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cuda": 5}', '{"cuda": {"version": 13}}', "[" * 100_000, "\ufffd"])
def test_a_malformed_toolkit_file(tmp_path: Path, text: str) -> None:
    assert reason(cuda.collect(host(tmp_path, {"/usr/local/cuda/version.json": text})).toolkit_version) == FAILED
