"""G17: kernels known to be bad, updates that stopped half-way, and a dead GPU with the signature of a bad pairing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gonogo import known as dated
from gonogo.finding import FAIL, INFO, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, NOT_FOUND, Missing, known
from gonogo.node.facts.sections.container import Container
from gonogo.node.facts.sections.driver import Driver
from gonogo.node.facts.sections.gpu import Gpu
from gonogo.node.facts.sections.identity import Identity
from gonogo.node.facts.sections.memory import Memory
from gonogo.node.facts.sections.software import Software
from gonogo.node.facts.sections.updates import Updates
from gonogo.platforms.containment import weigh
from gonogo.platforms.identify import Platform

PAIRING = "gsp-pairing"
KEXEC_HANDOVER = "kernel-rdma-memory"
#: Packages whose half-finished installation tears driver, kernel and firmware apart. Docker's or nvtop's does not.
TORN = (
    *("nvidia-", "libnvidia-", "linux-image-", "linux-modules-nvidia-", "linux-nvidia", "linux-firmware"),
    *("cuda-drivers", "dgx-", "fastos-", "fwupd"),
)
#: A user-mode driver is installed where one of these is; without it the module is not missing but unwanted.
USER_MODE = ("nvidia-driver-", "libnvidia-compute-")
CPU_SHARE = 0.6  # wedged units' CPU stays below 2 GHz of 3.9: eugr/spark-vllm-docker#104


def check_pairing(
    software: Software | Missing,
    driver: Driver | Missing,
    gpu: Gpu | Missing,
    identity: Identity | Missing,
    memory: Memory | Missing,
    container: Container | Missing,
    platform: Platform,
    versions: Mapping[str, str],
    known_rows: tuple[dated.Known, ...],
) -> Iterator[Finding]:
    """While the GPU answers, no driver is wrong for its version alone."""
    if platform.assumed:
        yield Finding("G17.skipped", SKIP, "the kernel and the packages are of another machine than --platform names")
        return
    inside = bool(weigh(container).inside)
    found = list(_dead(software, driver, gpu, identity, platform, versions, known_rows, inside))
    found += _kernels(memory, platform, versions, known_rows)
    if platform.is_spark:
        found += _reserved_memory(memory, versions)
        found += _slow_cpu(software)
    if not inside:
        found += _torn(software, platform)
    yield from found
    if platform.is_spark and not any(item.status in (WARN, FAIL) for item in found):
        yield _fine(software, versions, inside)
    elif not found:
        yield Finding("G17.skipped", SKIP, "nothing is known of this platform's kernels and firmware")


def _fine(software: Software | Missing, versions: Mapping[str, str], inside: bool) -> Finding:
    unfinished = software if isinstance(software, Missing) else software.unfinished_packages
    if "kernel" not in versions:
        return Finding("G17.unknown", UNKNOWN, "the kernel's version is not known")
    text = f"kernel {versions['kernel']} shows no known fault"
    if inside:
        return Finding("G17.ok", PASS, f"{text}; the host's packages are not visible from a container")
    if isinstance(unfinished, Missing):
        return Finding("G17.unknown", UNKNOWN, f"{text}; whether an update stopped half-way is not known: {unfinished}")
    return Finding("G17.ok", PASS, f"{text}, and no update of driver, kernel or firmware stopped half-way")


# -- a GPU that does not answer ---------------------------------------------------------------------------------------


def _dead(
    software: Software | Missing,
    driver: Driver | Missing,
    gpu: Gpu | Missing,
    identity: Identity | Missing,
    platform: Platform,
    versions: Mapping[str, str],
    rows: tuple[dated.Known, ...],
    inside: bool,
) -> Iterator[Finding]:
    said = _silence(gpu)
    if said is None or isinstance(driver, Missing):
        return
    module = known(driver.kernel_module_version)
    if platform.is_spark and module and driver.kernel_module_open is False:
        text = f"the proprietary kernel module {module} is loaded, which never starts a GB10 (Xid 169); {said}"
        yield Finding("G17.proprietary-module", FAIL, text, (_proc(driver), said), values=_branch(module))
    elif inside:
        return  # a container that was started without the GPU looks the same
    elif _without_module(software, driver, identity, module):
        kernel = versions.get("kernel", "this one")
        text = f"no nvidia module is installed for the running kernel {kernel}, so the driver cannot start; {said}"
        evidence = (f"/lib/modules/{kernel}/modules.dep names no nvidia.ko", said)
        values = {"kernel": kernel, **_branch(versions.get("libcuda", ""))}
        yield Finding("G17.no-module-for-kernel", FAIL, text, evidence, values=values)
    elif module and "ota" in versions and versions.get("libcuda", module) == module and _no_device(gpu):
        pairing = [row for row in rows if row.code == PAIRING]
        for item in dated.findings("G17", pairing, versions, platform):
            text = f"{item.message}; this machine: OTA {versions['ota']}"
            yield item._replace(message=text, evidence=(*item.evidence, said), values={"ota": versions["ota"]})


def _silence(gpu: Gpu | Missing) -> str | None:
    """What the driver said instead of naming a GPU; None where it named one, hung, or has a reason of its own."""
    devices = gpu if isinstance(gpu, Missing) else gpu.devices
    if not isinstance(devices, Missing):
        return None if devices else "No devices were found"
    if devices.reason not in (FAILED, NOT_FOUND) or "mismatch" in devices.detail.lower():
        return None  # two halves of two versions: a reboot, G4
    return f"NVML: {devices.detail or devices}"


def _proc(driver: Driver) -> str:
    return f"/proc/driver/nvidia/version: {known(driver.kernel_module_version)}, not the Open Kernel Module"


def _branch(version: str) -> dict[str, str]:
    return {"branch": version.partition(".")[0]} if version else {}


def _no_device(gpu: Gpu | Missing) -> bool:
    """The driver was reached and shows no GPU, as after a GSP time-out: not a library that is absent or not loaded."""
    devices = gpu if isinstance(gpu, Missing) else gpu.devices
    if isinstance(devices, Missing):
        return devices.reason == FAILED and "not loaded" not in devices.detail.lower()
    return not devices


def _without_module(
    software: Software | Missing, driver: Driver, identity: Identity | Missing, module: str | None
) -> bool:
    if isinstance(software, Missing) or software.nvidia_module_for_kernel is not False or module:
        return False
    listed = () if isinstance(identity, Missing) else known(identity.nvidia_pci_devices) or ()
    names = known(software.packages) or {}
    user_mode = known(driver.libcuda_version) or any(name.startswith(USER_MODE) for name in names)
    return bool(user_mode) and any(device.class_code.startswith("03") for device in listed)


# -- what is known of a version, and what this machine shows ----------------------------------------------------------


def _kernels(
    memory: Memory | Missing, platform: Platform, versions: Mapping[str, str], rows: tuple[dated.Known, ...]
) -> Iterator[Finding]:
    cma = None if isinstance(memory, Missing) else (known(memory.cma_total_bytes), known(memory.cma_free_bytes))
    # With kho=off both are 0 and the fault is gone; with more free than there is, it has a finding of its own.
    settled = cma is not None and (cma == (0, 0) or _more_free_than_there_is(cma))
    for item in dated.findings("G17", [row for row in rows if row.code != PAIRING], versions, platform):
        if item.code != f"G17.{KEXEC_HANDOVER}" or not settled:
            yield item


def _more_free_than_there_is(cma: tuple[int | None, int | None]) -> bool:
    total, free = cma
    return total is not None and free is not None and free > total


def _reserved_memory(memory: Memory | Missing, versions: Mapping[str, str]) -> Iterator[Finding]:
    if isinstance(memory, Missing):
        return
    total, free = known(memory.cma_total_bytes), known(memory.cma_free_bytes)
    if total is not None and free is not None and free > total:
        figures = f"CmaFree {free >> 10} kB above CmaTotal {total >> 10} kB"
        text = f"{figures}: kexec-handover keeps memory back and RDMA registration fails with much memory free"
        evidence = (f"/proc/meminfo: {figures}", f"kernel {versions.get('kernel', 'unknown')}")
        yield Finding("G17.more-free-than-total", WARN, text, evidence)


def _torn(software: Software | Missing, platform: Platform) -> Iterator[Finding]:
    unfinished = {} if isinstance(software, Missing) else known(software.unfinished_packages) or {}
    torn = {name: state for name, state in sorted(unfinished.items()) if name.startswith(TORN)}
    if torn and platform.gpu_expected:
        shown = ", ".join(f"{name} ({state})" for name, state in list(torn.items())[:3])
        more = f" and {len(torn) - 3} more" if len(torn) > 3 else ""
        text = f"an update stopped half-way, or is still running: {shown}{more}"
        evidence = tuple(f"dpkg: {name} is {state}" for name, state in list(torn.items())[:10])
        yield Finding("G17.torn-update", WARN, text, evidence, values={"spark": ""} if platform.is_spark else {})


def _slow_cpu(software: Software | Missing) -> Iterator[Finding]:
    if isinstance(software, Missing):
        return
    most, limit = known(software.cpu_maximum_mhz), known(software.cpu_limit_mhz)
    if most and limit and limit < CPU_SHARE * most:
        text = f"the CPU is limited to {limit} of {most} MHz; a unit with a stuck power contract does that too (G4)"
        yield Finding("G17.cpu-limited", INFO, text, (f"scaling_max_freq {limit} MHz, cpuinfo_max_freq {most} MHz",))


def check_updates(updates: Updates | Missing, platform: Platform) -> Iterator[Finding]:
    """Asked with --thorough only. What is in no known form is shown and not read."""
    if isinstance(updates, Missing) or platform.assumed or not platform.is_spark:
        return
    installed, newest = known(updates.installed_release), known(updates.newest_release)
    lines = [line.strip() for line in known(updates.ota_check) or () if any(sign.isalpha() for sign in line)]
    if installed and newest and installed != newest and "ebeta" not in installed.lower():
        differing = known(updates.differing_percent)
        share = "" if not differing else f"; {differing:g} % of the parts of {installed} differ"
        text = f"a newer set is available: {newest} (this machine matches {installed} best){share}"
        yield Finding("G17.newer-set", INFO, text, ("nvidia-spark-ota-check summary",))
    elif isinstance(updates.ota_check, Missing):
        if updates.ota_check.reason not in (NOT_FOUND, NOT_COLLECTED):
            yield Finding("G17.update-check", INFO, f"nvidia-spark-ota-check: {updates.ota_check}")
    elif not installed and lines:
        yield Finding("G17.update-check", INFO, f"nvidia-spark-ota-check: {lines[0]}", tuple(lines[:10]))
