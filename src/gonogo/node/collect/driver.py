"""Driver: the kernel module's version and kind, and the user-mode libcuda that programs would get."""

from __future__ import annotations

import re

from gonogo.node import loader
from gonogo.node.facts.missing import NOT_FOUND, Missing
from gonogo.node.facts.sections.driver import Driver
from gonogo.node.parse import keyed
from gonogo.node.ports.host import Host


def collect(host: Host) -> Driver:
    """Reads /sys/module, /proc/driver and the name of the file behind libcuda.so.1; loads nothing."""
    banner = host.files.text("/proc/driver/nvidia/version")
    library = loader.find(host, "libcuda.so.1")
    real = library if isinstance(library, Missing) else host.files.resolve(library.path)
    version = real if isinstance(real, Missing) else keyed.version_in_library_name(real)
    return Driver(
        kernel_module_version=_module_version(host, banner),
        kernel_module_open=banner if isinstance(banner, Missing) else "Open Kernel Module" in banner,
        libcuda_path=real,
        libcuda_version=Missing(NOT_FOUND, "its file name carries no version") if version is None else version,
        device_nodes=host.files.exists("/dev/nvidiactl"),
    )


def _module_version(host: Host, banner: str | Missing) -> str | Missing:
    loaded = host.files.text("/sys/module/nvidia/version")
    if not isinstance(loaded, Missing) and re.match(r"[0-9]+\.[0-9.]+$", loaded.strip()):
        return loaded.strip()
    if isinstance(banner, Missing):
        return banner
    found = re.search(r"^NVRM version:.*?\s([0-9]+\.[0-9]+(?:\.[0-9]+)?)\s", banner, re.MULTILINE)
    return found.group(1) if found else Missing("failed", "no version in /proc/driver/nvidia/version")
