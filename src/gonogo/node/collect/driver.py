"""Driver: the kernel module's version and kind, and the user-mode libcuda that programs would get."""

from __future__ import annotations

import re

from gonogo.node import loader
from gonogo.node.facts.missing import NOT_FOUND, Missing
from gonogo.node.facts.sections.driver import Driver
from gonogo.node.parse import keyed
from gonogo.node.ports.host import Host

#: Below a toolkit's folder. NGC's entrypoint links lib to lib.real when the library works with the driver.
COMPATIBILITY_FOLDERS = ("compat", "compat/lib.real", "compat/lib")


def collect(host: Host) -> Driver:
    """Reads /sys/module, /proc/driver and the name of the file behind libcuda.so.1; loads nothing."""
    banner = host.files.text("/proc/driver/nvidia/version")
    library = loader.find(host, "libcuda.so.1")
    real = library if isinstance(library, Missing) else host.files.resolve(library.path)
    compatible = _compatibility_library(host)
    version = real if isinstance(real, Missing) else keyed.version_in_library_name(real)
    return Driver(
        kernel_module_version=_module_version(host, banner),
        kernel_module_open=banner if isinstance(banner, Missing) else "Open Kernel Module" in banner,
        libcuda_path=real,
        libcuda_version=Missing(NOT_FOUND, "its file name carries no version") if version is None else version,
        device_nodes=host.files.exists("/dev/nvidiactl"),
        compatibility_library_path=compatible,
        compatibility_library_version=compatible
        if isinstance(compatible, Missing)
        else keyed.version_in_library_name(compatible) or Missing(NOT_FOUND),
    )


def _compatibility_library(host: Host) -> str | Missing:
    """The newest libcuda of a cuda-compat package: straight in compat/ (nvidia/cuda) or below it (NGC)."""
    below = host.files.names("/usr/local")
    toolkits = [] if isinstance(below, Missing) else [name for name in below if re.match(r"cuda(?:-[0-9.]+)?$", name)]
    found: list[tuple[tuple[int, ...], str]] = []
    for toolkit in toolkits:
        for folder in COMPATIBILITY_FOLDERS:
            names = host.files.names(f"/usr/local/{toolkit}/{folder}")
            for name in () if isinstance(names, Missing) else names:
                version = keyed.version_in_library_name(name) if name.startswith("libcuda.so.") else None
                if version:
                    numbers = tuple(int(part) for part in version.split("."))
                    found.append((numbers, f"/usr/local/{toolkit}/{folder}/{name}"))
    return host.files.resolve(max(found)[1]) if found else Missing(NOT_FOUND)


def _module_version(host: Host, banner: str | Missing) -> str | Missing:
    loaded = host.files.text("/sys/module/nvidia/version")
    if not isinstance(loaded, Missing) and re.match(r"[0-9]+\.[0-9.]+$", loaded.strip()):
        return loaded.strip()
    if isinstance(banner, Missing):
        return banner
    found = re.search(r"^NVRM version:.*?\s([0-9]+\.[0-9]+(?:\.[0-9]+)?)\s", banner, re.MULTILINE)
    return found.group(1) if found else Missing("failed", "no version in /proc/driver/nvidia/version")
