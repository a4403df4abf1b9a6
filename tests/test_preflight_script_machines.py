"""The skill's preflight.sh on whole machines that are made up: who the machine is, its memory, its container.

Each runs in a mount namespace with its own /proc, /sys, /etc and marker files; skipped where that is refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import NOBODY, running_as_root
from preflight_script import GB10, H200, Machine, mountinfo


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# -- who the machine is -----------------------------------------------------------------------------------------------

DGX_RELEASE = 'DGX_NAME="DGX Spark"\nDGX_PRETTY_NAME="NVIDIA DGX Spark"\nDGX_SWBUILD_VERSION="7.2.3"\n'
SLOWER = "slower than a CUDA 13 build"


@pytest.mark.parametrize("sign", ["PCI", "dgx-release", "fastos-release", "capability"])
def test_a_cuda_12_torch_on_a_spark_is_slower(machine: Machine, sign: str) -> None:
    machine.box.torch("2.9.1+cu128", "12.8")
    if sign == "PCI":
        machine.pci(("8086", "2e12"), ("10de", "22ce"), ("10de", "2e12"))
    elif sign == "dgx-release":
        machine.file("etc/dgx-release", DGX_RELEASE)
    elif sign == "fastos-release":
        machine.file("etc/fastos-release", 'NAME="DGX SPARK FASTOS"\nVERSION="1.91.51"\n')
    else:
        machine.box.nvidia_smi(GB10)
    line = machine.lines()["G1"]
    assert line.status == "WARN" and SLOWER in line.message


@pytest.mark.parametrize("sign", ["PCI", "dgx-release", "fastos-release", "H200", "nothing"])
def test_a_cuda_12_torch_elsewhere_is_right(machine: Machine, sign: str) -> None:
    machine.box.torch("2.9.1+cu128", "12.8")
    if sign == "PCI":
        machine.pci(("8086", "2e12"), ("10de", "2335"))
    elif sign == "dgx-release":
        machine.file("etc/dgx-release", 'DGX_NAME="DGX Server"\nDGX_PRETTY_NAME="NVIDIA DGX Server"\n')
    elif sign == "fastos-release":
        machine.file("etc/fastos-release", 'NAME="N1x FASTOS"\n')
    elif sign == "H200":
        machine.box.nvidia_smi(H200)
    assert machine.lines()["G1"].status == "PASS"


# -- memory -----------------------------------------------------------------------------------------------------------


def test_memory_of_a_spark_of_2025(machine: Machine) -> None:
    """Available memory, not free: 104857600 / 1048576 = 100.0 GiB; (125513944 - 104857600) / 1048576 = 19.7."""
    text = "MemTotal:       125513944 kB\nMemFree:         2097152 kB\nMemAvailable:   104857600 kB\nBuffers: 1 kB\n"
    machine.file("proc/meminfo", text)
    line = machine.lines()["G3"]
    assert line.status == "INFO"
    assert line.message.startswith("free/used (GB): 100.0 19.7")


@pytest.mark.parametrize("text", ["", "MemTotal: 125513944 kB\n", "MemTotal: x kB\nMemAvailable: y kB\n", None])
def test_memory_that_is_not_told(machine: Machine, text: str | None) -> None:
    if text is None:
        machine.without("proc/meminfo")
    else:
        machine.file("proc/meminfo", text)
    assert machine.lines()["G3"].status == "SKIP"


# -- containers -------------------------------------------------------------------------------------------------------

DOCKER = "12:cpuset:/docker/0123456789abcdef\n0::/system.slice/containerd.service\n"
OVERLAY = mountinfo("overlay", "overlay", injected=("/etc/resolv.conf", "/etc/hostname", "/etc/hosts"))
DISK = mountinfo("ext4", "/dev/vda1")
#: Marker file, /proc/1/cgroup, mountinfo, the variable ``container``; the status, and a word of the message.
CONTAINERS = [
    ("/.dockerenv", "0::/\n", OVERLAY, "", "PASS", "/.dockerenv"),
    ("/run/.containerenv", "0::/\n", OVERLAY, "", "PASS", "/run/.containerenv"),
    ("/.dockerenv", "0::/\n", DISK, "", "UNKNOWN", "/dev/vda1"),
    ("/.dockerenv", DOCKER, DISK, "", "PASS", "docker"),
    ("/.dockerenv", "0::/\n", mountinfo("ext4", "/dev/vda1", "/var/lib/lxc/x"), "", "PASS", "/.dockerenv"),
    ("/.dockerenv", "0::/\n", mountinfo("ext4", "/dev/vda1", injected=("/etc/hosts",)), "", "PASS", "/.dockerenv"),
    ("/.dockerenv", "0::/\n", "", "", "PASS", "/.dockerenv"),
    ("", DOCKER, OVERLAY, "", "PASS", "docker"),
    ("", "0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-12.scope\n", OVERLAY, "", "PASS", "kubepods"),
    ("", "0::/machine.slice/libpod-12.scope/container\n", OVERLAY, "", "PASS", "libpod"),
    ("", "0::/init.scope\n", DISK, "podman", "PASS", "podman"),
    ("", "0::/init.scope\n", DISK, "", "UNKNOWN", "does not prove a bare host"),
    ("", "", DISK, "", "UNKNOWN", "does not prove a bare host"),
    ("", None, DISK, "", "SKIP", "not readable"),
    ("/.dockerenv", None, OVERLAY, "", "PASS", "/.dockerenv"),
]


@pytest.mark.parametrize(("marker", "cgroup", "mounts", "variable", "status", "text"), CONTAINERS)
def test_a_container(
    machine: Machine, marker: str, cgroup: str | None, mounts: str, variable: str, status: str, text: str
) -> None:
    if marker:
        machine.file(marker.lstrip("/"), "")
    if cgroup is None:
        machine.without("proc/1/cgroup")
    else:
        machine.file("proc/1/cgroup", cgroup)
    machine.file("proc/self/mountinfo", mounts)
    line = machine.lines(env={"container": variable or None})["G9"]
    assert line.status == status, line
    assert text in line.message


@pytest.mark.skipif(not running_as_root(), reason="only root can become somebody else in there")
def test_a_control_group_that_this_user_may_not_read(machine: Machine) -> None:
    machine.file("proc/1/cgroup", DOCKER)
    (machine.box.folder / "machine" / "proc" / "1" / "cgroup").chmod(0o000)
    (machine.box.folder / "scratch").chmod(0o777)
    assert machine.lines(user=f"--userspec={NOBODY}:{NOBODY}")["G9"].status == "SKIP"
