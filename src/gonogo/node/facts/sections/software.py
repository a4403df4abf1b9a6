"""The platform's software: packages of driver, kernel, firmware and container tools, and what the kernel was given."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Software(NamedTuple):
    """From dpkg's status file, the running kernel's module folder and the CPU frequency policies."""

    packages: Mapping[str, str] | Missing = UNCOLLECTED  # name: version of what is installed
    unfinished_packages: Mapping[str, str] | Missing = (
        UNCOLLECTED  # name: dpkg's state (unpacked, half-configured, ...)
    )
    nvidia_module_for_kernel: bool | Missing = UNCOLLECTED  # the running kernel's modules hold nvidia.ko
    cpu_maximum_mhz: int | Missing = UNCOLLECTED  # fastest core, what its hardware can do
    cpu_limit_mhz: int | Missing = UNCOLLECTED  # fastest core, what the policy allows
