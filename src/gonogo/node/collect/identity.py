"""Identity: release files, PCI ids and DMI names. No serial number, host name or unique id is read."""

from __future__ import annotations

from gonogo.node.facts.missing import NOT_FOUND, UNCOLLECTED, Missing
from gonogo.node.facts.sections.identity import Identity, PciDevice
from gonogo.node.parse import keyed
from gonogo.node.ports.host import Host

PCI = "/sys/bus/pci/devices"
DMI = "/sys/class/dmi/id"
DMI_NAMES = ("sys_vendor", "product_name", "product_version", "board_vendor", "board_name", "bios_version", "bios_date")


def collect(host: Host) -> Identity:
    """Works wherever the files are; each that is not there is a fact of its own."""
    os_release = _release(host, "/etc/os-release")
    return Identity(
        system=host.system or UNCOLLECTED,
        machine=host.machine or UNCOLLECTED,
        kernel_release=host.kernel_release or UNCOLLECTED,
        os_name=os_release if isinstance(os_release, Missing) else os_release.get("PRETTY_NAME", Missing(NOT_FOUND)),
        nvidia_pci_devices=_nvidia_devices(host),
        dgx_release=_release(host, "/etc/dgx-release"),
        fastos_release=_release(host, "/etc/fastos-release"),
        dmi=_dmi(host),
    )


def _release(host: Host, path: str) -> dict[str, str] | Missing:
    text = host.files.text(path)
    if isinstance(text, Missing):
        return text
    return {key: value for key, value in keyed.release(text).items() if "SERIAL" not in key}


def _nvidia_devices(host: Host) -> tuple[PciDevice, ...] | Missing:
    addresses = host.files.names(PCI)
    if isinstance(addresses, Missing):
        return addresses
    found: list[PciDevice] = []
    for address in addresses:
        if _hexadecimal(host, address, "vendor") == "10de":
            found.append(
                PciDevice(address, "10de", _hexadecimal(host, address, "device"), _hexadecimal(host, address, "class"))
            )
    return tuple(found)


def _hexadecimal(host: Host, address: str, attribute: str) -> str:
    text = host.files.text(f"{PCI}/{address}/{attribute}")
    if isinstance(text, Missing):
        return ""
    digits = text.strip().lower()
    return digits[2:] if digits.startswith("0x") else digits


def _dmi(host: Host) -> dict[str, str] | Missing:
    present = host.files.names(DMI)
    if isinstance(present, Missing):
        return present
    found = {name: host.files.text(f"{DMI}/{name}") for name in DMI_NAMES if name in present}
    return {name: text.strip() for name, text in found.items() if not isinstance(text, Missing)}
