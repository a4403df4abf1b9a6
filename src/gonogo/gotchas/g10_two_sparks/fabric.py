"""The fabric of a Spark in the facts: ConnectX-7 functions, the cages that they share, their RDMA devices.

Each QSFP cage is two PCIe functions, one in each PCI domain: 0000:01:00.0 and 0002:01:00.0. Names do not tell (OEMs and
netplan rename them), so functions are paired by their PCI addresses.
"""

from __future__ import annotations

import re

from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.network import Interface, Network, RdmaDevice

CONNECTX_7 = "15b3:1021"
#: Each function of a cabled cage reports the cage's full speed. With less the port is an ordinary network card.
PAIR_GIGABIT_PER_S = 200
JUMBO_MTU_BYTES = 9000
#: Each function hangs on four lanes of PCIe Gen5.
PCI_WIDTH, PCI_GIGATRANSFER_PER_S = 4, 32.0
#: Names go into commands for people to run; the kernel and udev use nothing else, a hostile facts file might.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}


def functions_of(network: Network | Missing) -> tuple[Interface, ...]:
    """The ConnectX-7 functions that were read."""
    interfaces = () if isinstance(network, Missing) else known(network.interfaces) or ()
    return tuple(item for item in interfaces if known(item.pci_device_id) == CONNECTX_7 and _NAME.fullmatch(item.name))


def carries(function: Interface) -> bool:
    """Whether its link is up at the speed of a pair."""
    speed = known(function.speed_megabit_per_s) or 0
    return known(function.link_up) is True and speed >= PAIR_GIGABIT_PER_S * 1000


def cages(functions: tuple[Interface, ...]) -> list[tuple[Interface, ...]]:
    """Functions that share a cage, in order of PCI address; those without an address are left out."""
    by_place: dict[str, list[Interface]] = {}
    for function in functions:
        address = known(function.pci_address)
        if address:
            by_place.setdefault(address.partition(":")[2], []).append(function)
    return [tuple(sorted(rows, key=lambda row: str(row.pci_address))) for _, rows in sorted(by_place.items())]


def rdma_of(network: Network | Missing) -> tuple[RdmaDevice, ...]:
    """The RDMA devices that were read."""
    devices = () if isinstance(network, Missing) else known(network.rdma_devices) or ()
    return tuple(device for device in devices if _NAME.fullmatch(device.name))


def usable_rdma(network: Network | Missing) -> tuple[RdmaDevice, ...]:
    """The RDMA devices whose port is active at the speed of a pair."""
    return tuple(
        device
        for device in rdma_of(network)
        if known(device.state) == "ACTIVE" and (known(device.rate_gigabit_per_s) or 0.0) >= PAIR_GIGABIT_PER_S
    )


def link_line(function: Interface) -> str:
    """One function's link, as evidence."""
    up, speed, mtu = known(function.link_up), known(function.speed_megabit_per_s), known(function.mtu_bytes)
    state = "link unknown" if up is None else "link up" if up else "link down"
    rest = f", {speed} Mb/s" if up and speed else ""
    return f"{function.name} ({known(function.pci_address)}): {state}{rest}, MTU {mtu}"


def pci_words(function: Interface) -> str:
    """Gen5 x4, or what of it is known."""
    rate, width = known(function.pci_link_gigatransfer_per_s), known(function.pci_link_width)
    generation = "" if rate is None else f"Gen{_GENERATIONS[rate]}" if rate in _GENERATIONS else f"{rate:g} GT/s"
    return f"{generation} {'' if width is None else f'x{width}'}".strip()


def on_narrow_pci(function: Interface) -> bool:
    """Fewer lanes or a slower generation than a Spark's fabric has; what was not read counts as right."""
    rate, width = known(function.pci_link_gigatransfer_per_s), known(function.pci_link_width)
    return (rate is not None and rate < PCI_GIGATRANSFER_PER_S) or (width is not None and width < PCI_WIDTH)
