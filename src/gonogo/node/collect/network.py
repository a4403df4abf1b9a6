"""Network: the functions on PCI below /sys/class/net and the RDMA devices below /sys/class/infiniband.

/proc/net/route is reduced to numbers of subnets before anything keeps it: no address reaches a record.
"""

from __future__ import annotations

from typing import Callable, TypeVar

from gonogo.node.facts.missing import FAILED, NOT_FOUND, NOT_SUPPORTED, Missing
from gonogo.node.facts.sections.network import Interface, Network, RdmaDevice
from gonogo.node.parse import network as parse
from gonogo.node.ports.host import Host

NET, INFINIBAND, PCI = "/sys/class/net", "/sys/class/infiniband", "/sys/bus/pci/devices"
#: A node has a few; the rest of a machine with hundreds of virtual functions says nothing new.
LIMIT_FUNCTIONS = 64
ROUTE_BYTES = 1 << 20
#: A link without a speed: -1, or the same unsigned.
NO_SPEED = (-1, 0, (1 << 16) - 1, (1 << 32) - 1)

Value = TypeVar("Value")


def collect(host: Host) -> Network:
    """Reads files alone; every fact that is not there says why."""
    rdma = host.files.names(INFINIBAND)
    nodes = host.files.names("/dev/infiniband")
    absent = isinstance(nodes, Missing) and nodes.reason == NOT_FOUND
    return Network(
        interfaces=_interfaces(host),
        rdma_devices=rdma
        if isinstance(rdma, Missing)
        else tuple(_rdma_device(host, name) for name in rdma[:LIMIT_FUNCTIONS]),
        rdma_device_nodes=(False if absent else nodes)
        if isinstance(nodes, Missing)
        else any(name.startswith("uverbs") for name in nodes),
        locked_memory_limit_bytes=_locked_memory_limit(host),
    )


# -- network functions ------------------------------------------------------------------------------------------------


def _interfaces(host: Host) -> tuple[Interface, ...] | Missing:
    names = host.files.names(NET)
    if isinstance(names, Missing):
        return names
    on_pci: dict[str, str] = {}
    for name in names:
        device = host.files.resolve(f"{NET}/{name}/device")
        address = None if isinstance(device, Missing) else parse.pci_address(device)
        if address:
            on_pci[name] = address
        if len(on_pci) == LIMIT_FUNCTIONS:
            break
    subnets = host.files.reduced("/proc/net/route", parse.connected_subnets, ROUTE_BYTES)
    return tuple(_interface(host, name, address, on_pci, subnets) for name, address in on_pci.items())


def _interface(
    host: Host, name: str, address: str, others: dict[str, str], subnets: dict[str, list[int]] | Missing
) -> Interface:
    up = _link_up(host, name)
    driver = host.files.resolve(f"{NET}/{name}/device/driver")
    routed, sharing = _subnets(name, others, subnets)
    return Interface(
        name=name,
        pci_address=address,
        pci_device_id=_pci_device_id(host, address),
        driver=driver if isinstance(driver, Missing) else _last(driver),
        link_up=up,
        speed_megabit_per_s=Missing(NOT_FOUND) if up is False else _speed(host, name),
        mtu_bytes=_read(host, f"{NET}/{name}/mtu", parse.whole_number),
        bond=_bond(host, name),
        has_ipv4_route=routed,
        same_subnet_as=sharing,
        pci_link_width=_width(host, address, "current_link_width"),
        pci_link_width_max=_width(host, address, "max_link_width"),
        pci_link_gigatransfer_per_s=_read(host, f"{PCI}/{address}/current_link_speed", parse.gigatransfers),
    )


def _subnets(
    name: str, others: dict[str, str], subnets: dict[str, list[int]] | Missing
) -> tuple[bool | Missing, tuple[str, ...] | Missing]:
    if isinstance(subnets, Missing):
        return subnets, subnets
    own = set(subnets.get(name, ()))
    return bool(own), tuple(other for other in others if other != name and own.intersection(subnets.get(other, ())))


def _link_up(host: Host, name: str) -> bool | Missing:
    state = host.files.text(f"{NET}/{name}/operstate")
    if not isinstance(state, Missing) and state.strip() in ("up", "down", "notpresent", "lowerlayerdown"):
        return state.strip() == "up"
    # Not every driver says; the carrier of one that is administratively down cannot be read (EINVAL).
    carrier = _read(host, f"{NET}/{name}/carrier", parse.whole_number)
    return carrier if isinstance(carrier, Missing) else carrier == 1


def _speed(host: Host, name: str) -> int | Missing:
    speed = _read(host, f"{NET}/{name}/speed", parse.whole_number)
    if isinstance(speed, Missing):
        return Missing(NOT_SUPPORTED, speed.detail) if speed.reason == FAILED else speed
    return Missing(NOT_FOUND) if speed in NO_SPEED else speed


def _bond(host: Host, name: str) -> str | Missing:
    """The bond that it belongs to; a bridge is none."""
    if not host.files.exists(f"{NET}/{name}/master"):
        return Missing(NOT_FOUND)
    master = host.files.resolve(f"{NET}/{name}/master")
    if isinstance(master, Missing):
        return master
    return _last(master) if host.files.exists(f"{NET}/{_last(master)}/bonding") else Missing(NOT_FOUND)


def _pci_device_id(host: Host, address: str) -> str | Missing:
    parts = []
    for name in ("vendor", "device"):
        text = host.files.text(f"{PCI}/{address}/{name}")
        if isinstance(text, Missing):
            return text
        parts.append(text.strip().lower().partition("0x")[2][:8])
    return ":".join(parts) if all(parts) else Missing(FAILED, "no vendor and device id")


def _width(host: Host, address: str, name: str) -> int | Missing:
    width = _read(host, f"{PCI}/{address}/{name}", parse.whole_number)
    # 0, 63 and 255 stand for a link that cannot be asked.
    return width if isinstance(width, Missing) or 1 <= width <= 32 else Missing(NOT_FOUND)


# -- RDMA -------------------------------------------------------------------------------------------------------------


def _rdma_device(host: Host, name: str) -> RdmaDevice:
    port = f"{INFINIBAND}/{name}/ports/1"
    # Empty where the interface belongs to another network namespace: a container without the host's network.
    interfaces = host.files.names(f"{INFINIBAND}/{name}/device/net")
    layer = host.files.text(f"{port}/link_layer")
    return RdmaDevice(
        name=name,
        interface=interfaces
        if isinstance(interfaces, Missing)
        else interfaces[0]
        if interfaces
        else Missing(NOT_FOUND),
        state=_read(host, f"{port}/state", parse.port_state),
        rate_gigabit_per_s=_read(host, f"{port}/rate", parse.port_rate),
        link_layer=layer if isinstance(layer, Missing) else layer.strip()[:20],
    )


def _locked_memory_limit(host: Host) -> int | Missing:
    text = host.files.text("/proc/self/limits")
    limit = None if isinstance(text, Missing) else parse.locked_memory_limit(text)
    if isinstance(limit, str):
        return Missing(NOT_FOUND, limit)
    # not_found means unlimited here, so a kernel that has no such file says something else.
    return Missing(NOT_SUPPORTED, "no /proc/self/limits") if limit is None else limit


def _read(host: Host, path: str, parse_: Callable[[str], Value | None]) -> Value | Missing:
    text = host.files.text(path)
    if isinstance(text, Missing):
        return text
    value = parse_(text)
    return Missing(FAILED, f"not understood: {text.strip()[:40]!a}") if value is None else value


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
