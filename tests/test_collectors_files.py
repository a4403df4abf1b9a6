"""Collectors that read files, on roots made by hand. Expected values are the files' own, or worked out by hand."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from made_host import host, reason

from gonogo.node import collect as collectors
from gonogo.node.collect import container, identity, memory
from gonogo.node.facts import codec
from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, NOT_FOUND, PERMISSION_DENIED, Missing
from gonogo.node.facts.sections.identity import Identity, PciDevice
from gonogo.node.facts.sections.memory import Memory
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import live_host


def test_the_collectors_are_the_sections() -> None:
    assert collectors.names() == codec.section_names()


# -- identity ---------------------------------------------------------------------------------------------------------

SPARK = {
    "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\n',
    "/etc/dgx-release": 'DGX_NAME="DGX Spark"\nDGX_SERIAL_NUMBER="1984525001234"\nDGX_OTA_VERSION="7.2.3"\n'
    'DGX_OTA_VERSION="7.5.0"\n',
    "/etc/fastos-release": 'FASTOS_VERSION="1.91.51"\n',
    "/sys/bus/pci/devices/000f:01:00.0/vendor": "0x10de\n",
    "/sys/bus/pci/devices/000f:01:00.0/device": "0x2E12\n",
    "/sys/bus/pci/devices/000f:01:00.0/class": "0x030000\n",
    "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x15b3\n",
    "/sys/bus/pci/devices/0000:01:00.0/device": "0x1021\n",
    "/sys/class/dmi/id/sys_vendor": "NVIDIA\n",
    "/sys/class/dmi/id/product_name": "NVIDIA_DGX_Spark\n",
    "/sys/class/dmi/id/product_serial": "1984525001234\n",
    "/sys/class/dmi/id/product_uuid": "0f0e0d0c-1234-5678-9abc-def012345678\n",
    "/etc/hostname": "spark-4d5e\n",
    "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
}


def test_identity_of_a_spark(tmp_path: Path) -> None:
    facts = identity.collect(
        host(tmp_path, SPARK, system="Linux", machine="aarch64", kernel_release="6.17.0-1014-nvidia")
    )
    assert facts == Identity(
        system="Linux",
        machine="aarch64",
        kernel_release="6.17.0-1014-nvidia",
        os_name="Ubuntu 24.04.3 LTS",
        nvidia_pci_devices=(PciDevice("000f:01:00.0", "10de", "2e12", "030000"),),
        dgx_release={"DGX_NAME": "DGX Spark", "DGX_OTA_VERSION": "7.5.0"},
        fastos_release={"FASTOS_VERSION": "1.91.51"},
        dmi={"sys_vendor": "NVIDIA", "product_name": "NVIDIA_DGX_Spark"},
    )
    assert not re.search("1984525001234|spark-4d5e|0123456789abcdef|def012345678", repr(facts))


def test_identity_of_a_machine_that_says_nothing(tmp_path: Path) -> None:
    facts = identity.collect(host(tmp_path))
    assert {reason(fact) for fact in facts[:3]} == {NOT_COLLECTED}
    assert {reason(fact) for fact in facts[3:]} == {NOT_FOUND}


def test_identity_of_this_machine() -> None:
    facts = identity.collect(live_host())
    assert (facts.system, facts.machine, facts.kernel_release) == (
        *(platform.system(), platform.machine(), platform.release()),
    )


# -- memory -----------------------------------------------------------------------------------------------------------

MEMORY = {
    "/proc/meminfo": "MemTotal:       127600748 kB\nMemFree:        1000 kB\nMemAvailable:   104857600 kB\n"
    "Buffers: 1 kB\nCached: 2 kB\nShmem: 3 kB\nSReclaimable: 4 kB\nSwapTotal: 16777212 kB\nSwapFree: 0 kB\n"
    "HugePages_Total: 1024\nHugePages_Free: 512\nHugepagesize: 2048 kB\nCmaTotal: 65536 kB\n",
    "/proc/pressure/memory": "some avg10=1.50 avg60=0.25 avg300=0.00 total=9\n"
    "full avg10=0.75 avg60=0.10 avg300=0.00 total=3\n",
    "/proc/vmstat": "pgpgin 1\npswpin 7\npswpout 12\noom_kill 2\n",
}


def test_memory(tmp_path: Path) -> None:
    facts = memory.collect(host(tmp_path, MEMORY))
    assert facts == Memory(
        total_bytes=130_663_165_952,  # 127600748 * 1024
        free_bytes=1_024_000,
        available_bytes=107_374_182_400,  # 100 GiB
        buffers_bytes=1024,
        cached_bytes=2048,
        shared_bytes=3072,
        reclaimable_slab_bytes=4096,
        swap_total_bytes=17_179_865_088,
        swap_free_bytes=0,
        huge_pages_total=1024,
        huge_pages_free=512,
        huge_page_size_bytes=2_097_152,
        cma_total_bytes=67_108_864,
        cma_free_bytes=Missing(NOT_FOUND),
        pressure_some_avg10_percent=1.5,
        pressure_some_avg60_percent=0.25,
        pressure_full_avg10_percent=0.75,
        pressure_full_avg60_percent=0.1,
        swapped_in_pages=7,
        swapped_out_pages=12,
        oom_kills=2,
    )


def test_memory_without_pressure_or_without_meminfo(tmp_path: Path) -> None:
    facts = memory.collect(host(tmp_path, {"/proc/meminfo": "MemTotal: 1 kB\n"}))
    assert isinstance(facts, Memory)
    assert facts.pressure_some_avg10_percent == facts.oom_kills == Missing(NOT_FOUND)
    assert memory.collect(host(tmp_path / "none")) == Missing(NOT_FOUND)
    empty = memory.collect(host(tmp_path / "empty", {"/proc/meminfo": "no figures\n"}))
    assert reason(empty) == FAILED


@pytest.mark.skipif(shutil.which("free") is None or not Path("/proc/meminfo").exists(), reason="no free(1)")
def test_memory_of_this_machine_agrees_with_free() -> None:
    text = subprocess.run(["free", "-b"], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()[1:]}
    facts = memory.collect(live_host())
    assert isinstance(facts, Memory)
    assert (facts.total_bytes, facts.swap_total_bytes) == (int(rows["Mem:"][0]), int(rows["Swap:"][0]))


# -- container --------------------------------------------------------------------------------------------------------

OVERLAY = "1135 1034 0:56 / / rw,relatime master:354 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/ABC:/x\n"
INJECTED = "".join(
    f"{1144 + n} 1135 259:2 /var/lib/docker/containers/0123/{name} /etc/{name} rw,relatime - ext4 /dev/nvme0n1p2 rw\n"
    for n, name in enumerate(("resolv.conf", "hostname", "hosts"))
)


def test_docker(tmp_path: Path) -> None:
    files = {"/.dockerenv": "", "/proc/1/cgroup": "0::/\n", "/proc/self/mountinfo": OVERLAY + INJECTED}
    environment = {
        "NVIDIA_PYTORCH_VERSION": "25.11",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "HOSTNAME": "0123456789ab",
        "HF_TOKEN": "x",
    }
    facts = container.collect(host(tmp_path, files, environment=environment))
    assert facts.markers == ("/.dockerenv",)
    assert facts.cgroup == "0::/\n"
    assert (facts.root_filesystem, facts.root_source, facts.root_subtree) == ("overlay", "overlay", "/")
    assert facts.bind_mounts == ("/etc/resolv.conf", "/etc/hostname", "/etc/hosts")
    assert facts.environment == {"NVIDIA_PYTORCH_VERSION": "25.11", "NVIDIA_VISIBLE_DEVICES": "all"}


def test_podman_and_kubernetes(tmp_path: Path) -> None:
    podman = container.collect(
        host(
            tmp_path / "a",
            {"/run/.containerenv": "", "/proc/self/mountinfo": OVERLAY},
            environment={"container": "podman"},
        )
    )
    assert (podman.markers, podman.environment) == (("/run/.containerenv",), {"container": "podman"})
    assert reason(podman.cgroup) == NOT_FOUND
    cgroup = "12:memory:/kubepods/burstable/pod3f1/0a\n" + "11:cpu:/kubepods/burstable/pod3f1/0a\n" * 100
    pod = container.collect(
        host(tmp_path / "b", {"/proc/1/cgroup": cgroup}, environment={"KUBERNETES_SERVICE_HOST": "10.96.0.1"})
    )
    # The address is nobody's business: that it is set is all.
    assert pod.environment == {"KUBERNETES_SERVICE_HOST": "set"}
    assert pod.cgroup == cgroup[:2000]
    assert reason(pod.root_filesystem) == NOT_FOUND


def test_the_last_mount_of_the_root_is_the_one_that_is_seen(tmp_path: Path) -> None:
    text = "1 0 0:1 / / rw - rootfs rootfs rw\n27 1 254:0 /sub / rw,relatime - ext4 /dev/vda rw,discard\n"
    facts = container.collect(host(tmp_path, {"/proc/self/mountinfo": text}))
    assert (facts.root_filesystem, facts.root_source, facts.root_subtree) == ("ext4", "/dev/vda", "/sub")
    assert facts.markers == facts.bind_mounts == ()


def test_what_may_not_be_read_is_said_so(tmp_path: Path) -> None:
    class Denied(Files):
        def read(self, path: str) -> bytes | Missing:
            return Missing(PERMISSION_DENIED)

    facts = container.collect(host(tmp_path)._replace(files=Denied(str(tmp_path))))
    assert reason(facts.cgroup) == reason(facts.root_filesystem) == reason(facts.bind_mounts) == PERMISSION_DENIED
