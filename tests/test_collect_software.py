"""Packages, kernel module, CPU limits, updates. Oracles: dpkg-query on this machine, files as the tools print them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_host import host, reason

from gonogo.node.collect import software, updates
from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, NOT_FOUND, PERMISSION_DENIED, TIMED_OUT, Missing
from gonogo.node.facts.sections.software import Software
from gonogo.node.facts.sections.updates import Updates
from gonogo.node.parse import dpkg
from gonogo.node.parse import updates as printed
from gonogo.node.ports.commands import Commands, Completed
from gonogo.node.ports.host import live_host

KERNEL = "6.17.0-1031-nvidia"


def paragraph(name: str, status: str, version: str = "1.0-1", more: str = "") -> str:
    head = f"Package: {name}\nStatus: {status}\nPriority: optional\nMaintainer: Someone <one@example.org>\n{more}"
    return f"{head}Version: {version}\nDescription: a\n line\n .\n Package: none\n\n"


OK = "install ok installed"
STATUS = (
    paragraph("adduser", OK)
    + paragraph("nvidia-driver-580-open", OK, "580.159.03-0ubuntu0.24.04.1")
    + paragraph("dpkg", OK)
    + paragraph("docker-ce", "hold ok installed", "5:28.5.1-1~ubuntu.24.04~noble")
    + paragraph("docker-ce-cli", OK)
    + paragraph("docker-compose-plugin", OK)
    + paragraph("libnccl2", OK, "2.30.7-1+cuda13.0")
    + paragraph("libnccl-dev", OK)
    + paragraph("linux-image-6.17.0-1031-nvidia", OK, "6.17.0-1031.31")
    + paragraph("linux-image-6.11.0-1016-nvidia", "deinstall ok config-files")
    + paragraph("nvidia-dkms-580-open", "install ok half-configured")
    + paragraph("nvidia-firmware-580-580.173.02", "install reinstreq half-installed")
    + paragraph("libnvidia-compute-580", "install ok unpacked")
    + paragraph("earlyoom", "install ok triggers-pending", "1.7-2")
    + paragraph("podman", "install ok triggers-awaited", "4.9.3")
    + paragraph("python3", "install ok half-configured")
    + paragraph("dgx-release", "unknown ok not-installed")
    + paragraph("nvtop", OK, "3.0.2-1")
)


def test_packages_of_a_spark(tmp_path: Path) -> None:
    facts = software.collect(host(tmp_path, {"/var/lib/dpkg/status": STATUS}, kernel_release=KERNEL))
    assert facts.packages == {
        "nvidia-driver-580-open": "580.159.03-0ubuntu0.24.04.1",
        "docker-ce": "5:28.5.1-1~ubuntu.24.04~noble",
        "libnccl2": "2.30.7-1+cuda13.0",
        "linux-image-6.17.0-1031-nvidia": "6.17.0-1031.31",
        "earlyoom": "1.7-2",
        "podman": "4.9.3",
        "nvtop": "3.0.2-1",
    }
    # dpkg(1): pending triggers and a hold are no unfinished installation. python3 is nobody's business here.
    assert facts.unfinished_packages == {
        "nvidia-dkms-580-open": "half-configured",
        "nvidia-firmware-580-580.173.02": "half-installed",
        "libnvidia-compute-580": "unpacked",
    }
    assert "example.org" not in repr(facts)


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="dpkg-query is the oracle")
@pytest.mark.parametrize("names", [("adduser", "bash", "libc6", "zlib1g", "python3")])
def test_packages_of_this_machine_are_those_of_dpkg_query(names: tuple[str, ...], monkeypatch: Any) -> None:
    """Other names than the usual ones, since this machine may have none of them."""
    monkeypatch.setattr(dpkg, "_WANTED", tuple(f"{name}\n".encode() for name in names))
    form = "${Package} ${Version} ${db:Status-Status}\\n"
    listed = subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True, check=True).stdout
    rows = [line.split(" ") for line in listed.splitlines()]
    expected = {name: version for name, version, state in reversed(rows) if name in names and state == "installed"}
    assert expected
    assert software.collect(live_host()).packages == expected


def test_a_machine_that_says_nothing(tmp_path: Path) -> None:
    facts = software.collect(host(tmp_path))
    assert reason(facts.nvidia_module_for_kernel) == NOT_COLLECTED
    assert {reason(fact) for fact in (*facts[:2], *facts[3:])} == {NOT_FOUND}
    assert reason(software.collect(host(tmp_path, kernel_release=KERNEL)).nvidia_module_for_kernel) == NOT_FOUND


def test_software_of_this_machine() -> None:
    facts = software.collect(live_host())
    assert isinstance(facts, Software)
    assert isinstance(facts.cpu_limit_mhz, Missing) or facts.cpu_limit_mhz <= facts.cpu_maximum_mhz  # type: ignore[operator]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kernel/nvidia-580-open/nvidia.ko: kernel/drivers/platform/x86/wmi.ko", True),  # Ubuntu
        ("updates/dkms/nvidia.ko.zst:", True),  # DKMS on Ubuntu 24.04
        ("updates/dkms/nvidia-current.ko.xz:", True),  # Debian
        ("kernel/drivers/video/nvidia.ko.gz:", True),  # the installer's
        ("extra/nvidia-open.ko:", True),
        ("updates/dkms/nvidia-uvm.ko.zst: updates/dkms/nvidia.ko.zst", False),
        ("kernel/drivers/video/fbdev/nvidia/nvidiafb.ko.zst:", False),
        ("kernel/drivers/platform/x86/nvidia-wmi-ec-backlight.ko:", False),
        ("kernel/drivers/i2c/busses/i2c-nvidia-gpu.ko:", False),
        ("", False),
    ],
)
def test_the_kernels_nvidia_module(tmp_path: Path, line: str, expected: bool) -> None:
    text = f"kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko\n{line}\nkernel/net/dccp/dccp.ko:\n"
    machine = host(tmp_path, {f"/lib/modules/{KERNEL}/modules.dep": text}, kernel_release=KERNEL)
    assert software.collect(machine).nvidia_module_for_kernel is expected


CPU = "/sys/devices/system/cpu/cpufreq"


def test_the_cpus_limit_is_the_fastest_cores(tmp_path: Path) -> None:
    """Two clusters of a GB10: 2.8 and 3.9 GHz."""
    files: dict[str, Any] = {
        **{f"{CPU}/policy0/cpuinfo_max_freq": "2808000\n", f"{CPU}/policy0/scaling_max_freq": "2808000\n"},
        **{f"{CPU}/policy10/cpuinfo_max_freq": "3900000\n", f"{CPU}/policy10/scaling_max_freq": "1950000\n"},
        **{f"{CPU}/policy11/cpuinfo_max_freq": "<unsupported>\n", f"{CPU}/boost": "9999999\n"},
    }
    facts = software.collect(host(tmp_path, files))
    assert (facts.cpu_maximum_mhz, facts.cpu_limit_mhz) == (3900, 2808)


@pytest.mark.parametrize("text", ["", "-1\n", "0x10\n", "9" * 40, "\0\0", "12\n"])
def test_frequencies_that_are_none(tmp_path: Path, text: str) -> None:
    facts = software.collect(host(tmp_path, {f"{CPU}/policy0/cpuinfo_max_freq": text, f"{CPU}/policy0/x": ""}))
    assert reason(facts.cpu_maximum_mhz) == reason(facts.cpu_limit_mhz) == NOT_FOUND


@given(content=st.binary(max_size=600))
def test_any_status_file_is_read_without_an_error(content: bytes) -> None:
    for text in (content, b"Package: nvtop\n" + content, b"\nPackage: nvidia-x" + content + b"\n\nPackage: nvtop"):
        assert dpkg.status(text) is None or b"dpkg" in text
        whole = dpkg.status(text + b"\n\nPackage: dpkg\n")
        assert whole is not None and set(whole) == {"installed", "unfinished"}


def test_a_status_file_that_is_cut() -> None:
    # A power cut during an update leaves an empty or a shortened file: no fact, and never "nothing is unfinished".
    whole = dpkg.status(STATUS.encode())
    assert whole is not None
    for length in range(0, len(STATUS), 11):
        part = dpkg.status(STATUS[:length].encode())
        if part is not None:  # cut at the end of a line behind dpkg's own paragraph
            assert STATUS[length - 1] == "\n" and "Package: dpkg\n" in STATUS[:length]
            assert part["installed"].keys() <= whole["installed"].keys()


@pytest.mark.parametrize("content", ["", "\n", "Package: nvtop\n", "\0" * 5000, STATUS[:300]])
def test_a_status_file_that_is_none_is_a_failed_fact(tmp_path: Path, content: str) -> None:
    facts = software.collect(host(tmp_path, {"/var/lib/dpkg/status": content}))
    assert reason(facts.packages) == reason(facts.unfinished_packages) == FAILED


def test_a_package_that_wants_to_be_installed_again() -> None:
    text = paragraph("dpkg", OK) + paragraph("nvidia-driver-580-open", "install reinstreq installed")
    assert dpkg.status(text.encode()) == {
        "installed": {},
        "unfinished": {"nvidia-driver-580-open": "reinstreq"},
    }


# -- updates ----------------------------------------------------------------------------------------------------------


class Scripted(Commands):
    """Answers by the first word of the command, or of the shell's."""

    def __init__(self, **answers: Completed | Missing) -> None:
        self.answers, self.asked = answers, []  # type: ignore[var-annotated]

    def run(self, argv: Any, limit_seconds: float, *_: Any, **__: Any) -> Completed | Missing:
        self.asked.append((argv, limit_seconds))
        word = (argv[2] if argv[0] == "sh" else argv[0]).partition(" ")[0]
        return self.answers.get(word.replace("-", "_"), Missing(NOT_FOUND))


def out(text: str | dict[str, Any], status: int = 0, errors: str = "") -> Completed:
    return Completed(status, (text if isinstance(text, str) else json.dumps(text, indent=2)).encode(), errors.encode())


def score(ota: str, day: str, **more: Any) -> dict[str, Any]:
    return {
        "ota": ota,
        "releaseDate": f"{day}T00:00:00.000Z",
        "detection_rank": 0.5,
        "match": 97.1,
        "failed": [],
        **more,
    }


#: As nvidia-spark-ota-check 1.0.16 prints it: its published source (BSD-3-Clause), names and dates of its recipes.
SUMMARY = {
    **{"detected_ota": "OTA2.2", "releaseDate": "2026-03-31T00:00:00.000Z", "torn": 3.3},
    "scores": [score("OTA2.2", "2026-03-31"), score("OTA2607", "2026-07-15"), score("OTA2604-ebeta", "2027-01-01")],
}
DEVICES = {
    "Devices": [
        {
            "Name": "Embedded Controller",
            "DeviceId": "8b1e",
            "Guid": ["3d13c989"],
            "Version": "0x03000508",
            "Serial": "S1",
        },
        {"Name": "PM9E1", "Version": "1.0"},
        {"Name": "PM9E1", "Version": "1.1", "Releases": [{"Version": "9"}]},
        *({"Name": "no version"}, {"Version": "no name"}, {"Name": 5, "Version": "5"}, "text", None),
    ]
}


def test_updates_are_asked_only_on_request(tmp_path: Path) -> None:
    commands = Scripted()
    facts = updates.collect(host(tmp_path, commands=commands))
    assert (reason(facts), commands.asked) == (NOT_COLLECTED, [])


def test_updates_of_a_spark_that_is_behind(tmp_path: Path) -> None:
    commands = Scripted(nvidia_spark_ota_check=out(SUMMARY), fwupdmgr=out(DEVICES))
    facts = updates.collect(host(tmp_path, commands=commands, thorough=True))
    assert isinstance(facts, Updates)
    assert (facts.installed_release, facts.newest_release, facts.differing_percent) == ("OTA2.2", "OTA2607", 3.3)
    assert facts.firmware == {"Embedded Controller": "0x03000508", "PM9E1": "1.0", "PM9E1 (2)": "1.1"}
    assert not isinstance(facts.ota_check, Missing) and facts.ota_check[1] == '  "detected_ota": "OTA2.2",'
    # is-ota-available may install a package; nothing here does.
    assert commands.asked[0] == (["nvidia-spark-ota-check", "summary"], 20.0)


def test_the_checker_that_wants_root_and_tools_that_are_not_there(tmp_path: Path) -> None:
    refusal = out({"error": "nvidia-spark-ota-check must run as root (e.g. sudo nvidia-spark-ota-check <command>)."}, 1)
    commands = Scripted(nvidia_spark_ota_check=refusal, fwupdmgr=out("", 0, "sh: 1: fwupdmgr: not found\n"))
    facts = updates.collect(host(tmp_path, commands=commands, thorough=True))
    assert isinstance(facts, Updates)
    assert {reason(fact) for fact in (facts.ota_check, *facts[2:])} == {PERMISSION_DENIED}
    assert reason(facts.firmware) == NOT_FOUND
    bare = updates.collect(host(tmp_path, commands=Scripted(), thorough=True))
    assert isinstance(bare, Updates) and {reason(fact) for fact in bare} == {NOT_FOUND}


def test_tools_that_hang_or_print_something_else(tmp_path: Path) -> None:
    late = Missing(TIMED_OUT, "no answer within 20 s")
    facts = updates.collect(
        host(tmp_path, commands=Scripted(nvidia_spark_ota_check=late, fwupdmgr=late), thorough=True)
    )
    assert isinstance(facts, Updates) and set(facts) == {late}
    other = Scripted(
        nvidia_spark_ota_check=out("torn-score: 0\n"), fwupdmgr=out("no\n", 1, "Failed to connect to daemon\n")
    )
    facts = updates.collect(host(tmp_path, commands=other, thorough=True))
    assert isinstance(facts, Updates) and facts.ota_check == ("torn-score: 0",)
    assert reason(facts.newest_release) == NOT_FOUND
    assert facts.firmware == Missing(FAILED, "Failed to connect to daemon")


@pytest.mark.skipif(shutil.which("sed") is None, reason="sed is part of the command")
def test_single_devices_numbers_never_leave_the_shell(tmp_path: Path) -> None:
    program = tmp_path / "fwupdmgr"
    program.write_text(f"#!/bin/sh\ncat <<'EOF'\n{json.dumps(DEVICES, indent=2)}\nEOF\n")
    program.chmod(0o755)
    answer = Commands().run(["sh", "-c", updates.FIRMWARE], 10, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert isinstance(answer, Completed)
    assert b"S1" not in answer.output and b"8b1e" not in answer.output
    assert printed.firmware(answer.output.decode()) == printed.firmware(json.dumps(DEVICES))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*SUMMARY, "ota", "releaseDate", "Devices"]), inner)
    ),
)


@given(data=JSON, text=st.text(max_size=60))
def test_whatever_the_tools_print_is_read_without_an_error(data: Any, text: str) -> None:
    for given_ in (text, json.dumps(data), json.dumps({"Devices": data, **SUMMARY, "scores": data}), "{" * 5000):
        assert printed.firmware(given_) is None or isinstance(printed.firmware(given_), dict)
        release = printed.ota_summary(given_)
        assert release is None or 0 <= release.differing_percent <= 100
        assert isinstance(printed.ota_error(given_), str)
