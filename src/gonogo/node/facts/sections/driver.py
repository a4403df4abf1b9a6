"""The two halves of the NVIDIA driver: the kernel module and the user-mode libcuda."""

from __future__ import annotations

from typing import NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Driver(NamedTuple):
    """Versions as 580.95.05. Forward compatibility means that the two differ on purpose."""

    kernel_module_version: str | Missing = UNCOLLECTED
    kernel_module_open: bool | Missing = UNCOLLECTED
    libcuda_path: str | Missing = UNCOLLECTED
    libcuda_version: str | Missing = UNCOLLECTED
    device_nodes: bool | Missing = UNCOLLECTED  # /dev/nvidiactl exists
    # The newest libcuda of a CUDA compatibility package below /usr/local/cuda, in use or not.
    compatibility_library_path: str | Missing = UNCOLLECTED
    compatibility_library_version: str | Missing = UNCOLLECTED
