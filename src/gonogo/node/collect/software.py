"""Software: dpkg's packages of driver, kernel and container tools, the kernel's nvidia module, CPU frequency limits."""

from __future__ import annotations

import re

from gonogo.node.facts.missing import FAILED, NOT_FOUND, UNCOLLECTED, Missing
from gonogo.node.facts.sections.software import Software
from gonogo.node.parse import dpkg
from gonogo.node.ports.host import Host

STATUS_FILE, STATUS_LIMIT_BYTES = "/var/lib/dpkg/status", 64 << 20
POLICIES, MOST_POLICIES = "/sys/devices/system/cpu/cpufreq", 64
#: As depmod lists it: Ubuntu and the installer say nvidia.ko, Debian nvidia-current.ko or with the branch in its name.
_MODULE = re.compile(rb"/nvidia(?:-(?:current|tesla|legacy)[a-z0-9-]*|-open)?\.ko(?:\.zst|\.xz|\.gz)?:")


def collect(host: Host) -> Software:
    """Each fact has its own reason: other distributions have no dpkg, containers no module folder."""
    packages = host.files.reduced(STATUS_FILE, dpkg.status, STATUS_LIMIT_BYTES)
    if packages is None:
        packages = Missing(FAILED, f"{STATUS_FILE} is not whole")
    lacking = isinstance(packages, Missing)
    return Software(
        packages=packages if lacking else packages["installed"],
        unfinished_packages=packages if lacking else packages["unfinished"],
        nvidia_module_for_kernel=_has_module(host),
        cpu_maximum_mhz=_fastest(host, "cpuinfo_max_freq"),
        cpu_limit_mhz=_fastest(host, "scaling_max_freq"),
    )


def _has_module(host: Host) -> bool | Missing:
    if not host.kernel_release:
        return UNCOLLECTED
    path = f"/lib/modules/{host.kernel_release}/modules.dep"
    answer: bool | Missing = host.files.reduced(path, lambda content: bool(_MODULE.search(content)), STATUS_LIMIT_BYTES)
    return answer


def _fastest(host: Host, attribute: str) -> int | Missing:
    """The largest of the policies' frequencies, in MHz (the files hold kHz)."""
    names = host.files.names(POLICIES)
    if isinstance(names, Missing):
        return names
    fastest = 0
    for name in [name for name in names if name.startswith("policy")][:MOST_POLICIES]:
        text = host.files.text(f"{POLICIES}/{name}/{attribute}")
        if not isinstance(text, Missing) and re.match(r"[0-9]{4,9}\s*$", text):
            fastest = max(fastest, int(text) // 1000)
    return fastest or Missing(NOT_FOUND, "no frequency policy")
