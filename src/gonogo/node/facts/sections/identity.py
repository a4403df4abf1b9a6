"""Which machine this is, as its own files say it. Serial numbers and host names are never read."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class PciDevice(NamedTuple):
    """One PCI function: ``address`` as domain:bus:device.function, ids as four lower-case hex digits."""

    address: str
    vendor_id: str
    device_id: str
    class_code: str  # six hex digits; 03xxxx is a display controller, 0302xx a 3D controller


class Identity(NamedTuple):
    """Files that name the machine. ``system`` is the kernel's name: Linux, Darwin, Windows."""

    system: str | Missing = UNCOLLECTED
    machine: str | Missing = UNCOLLECTED  # uname -m: aarch64, x86_64
    kernel_release: str | Missing = UNCOLLECTED
    os_name: str | Missing = UNCOLLECTED
    nvidia_pci_devices: tuple[PciDevice, ...] | Missing = UNCOLLECTED
    dgx_release: Mapping[str, str] | Missing = UNCOLLECTED
    fastos_release: Mapping[str, str] | Missing = UNCOLLECTED
    dmi: Mapping[str, str] | Missing = UNCOLLECTED


def canonical_machine(name: str) -> str:
    """The Linux name of a CPU architecture: other systems say arm64 and amd64."""
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(name, name)
