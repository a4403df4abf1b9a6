"""The two halves of the NVIDIA driver: the kernel module and the user-mode libcuda."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from gonogo.node.facts.missing import UNCOLLECTED, Missing


@dataclass(frozen=True)
class Driver:
    """Versions as 580.95.05. Forward compatibility means that the two differ on purpose."""

    kernel_module_version: Union[str, Missing] = UNCOLLECTED
    kernel_module_open: Union[bool, Missing] = UNCOLLECTED
    libcuda_path: Union[str, Missing] = UNCOLLECTED
    libcuda_version: Union[str, Missing] = UNCOLLECTED
    device_nodes: Union[bool, Missing] = UNCOLLECTED  # /dev/nvidiactl exists
