"""Which machine this is, as its own files say it. Serial numbers and host names are never read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Tuple, Union

from gonogo.node.facts.missing import UNCOLLECTED, Missing


@dataclass(frozen=True)
class PciDevice:
    """One PCI function: ``address`` as domain:bus:device.function, ids as four lower-case hex digits."""

    address: str
    vendor_id: str
    device_id: str
    class_code: str  # six hex digits; 03xxxx is a display controller, 0302xx a 3D controller


@dataclass(frozen=True)
class Identity:
    """Files that name the machine. ``system`` is the kernel's name: Linux, Darwin, Windows."""

    system: Union[str, Missing] = UNCOLLECTED
    machine: Union[str, Missing] = UNCOLLECTED  # uname -m: aarch64, x86_64
    kernel_release: Union[str, Missing] = UNCOLLECTED
    os_name: Union[str, Missing] = UNCOLLECTED
    nvidia_pci_devices: Union[Tuple[PciDevice, ...], Missing] = UNCOLLECTED
    dgx_release: Union[Mapping[str, str], Missing] = UNCOLLECTED
    fastos_release: Union[Mapping[str, str], Missing] = UNCOLLECTED
    dmi: Union[Mapping[str, str], Missing] = UNCOLLECTED
