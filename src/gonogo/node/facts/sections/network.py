"""Network functions on PCI and their RDMA devices, from /sys/class. No address is read."""

from __future__ import annotations

from typing import NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Interface(NamedTuple):
    """One network function. On a Spark each QSFP cage is two of them: enp1s0f0np0 and enP2p1s0f0np0."""

    name: str
    pci_address: str | Missing = UNCOLLECTED
    pci_device_id: str | Missing = UNCOLLECTED  # vendor:device, lower-case hex: 15b3:1021 is ConnectX-7
    driver: str | Missing = UNCOLLECTED  # mlx5_core
    link_up: bool | Missing = UNCOLLECTED
    speed_megabit_per_s: int | Missing = UNCOLLECTED
    mtu_bytes: int | Missing = UNCOLLECTED
    bond: str | Missing = UNCOLLECTED  # the bond it belongs to; not_found: none
    has_ipv4_route: bool | Missing = UNCOLLECTED  # a subnet of its own is set up
    same_subnet_as: tuple[str, ...] | Missing = UNCOLLECTED  # other functions with a route to the same subnet
    pci_link_width: int | Missing = UNCOLLECTED  # lanes now
    pci_link_width_max: int | Missing = UNCOLLECTED
    pci_link_gigatransfer_per_s: float | Missing = UNCOLLECTED  # 32.0 is Gen5


class RdmaDevice(NamedTuple):
    """One RDMA device, as NCCL_IB_HCA names it: rocep1s0f0. ``state`` is the first port's: ACTIVE, DOWN, INIT."""

    name: str
    interface: str | Missing = UNCOLLECTED
    state: str | Missing = UNCOLLECTED
    rate_gigabit_per_s: float | Missing = UNCOLLECTED
    link_layer: str | Missing = UNCOLLECTED  # Ethernet, InfiniBand


class Network(NamedTuple):
    """What a run over several nodes would use. The NCCL variables are in the section launch."""

    interfaces: tuple[Interface, ...] | Missing = UNCOLLECTED  # those on PCI, in order of name
    rdma_devices: tuple[RdmaDevice, ...] | Missing = UNCOLLECTED
    rdma_device_nodes: bool | Missing = UNCOLLECTED  # /dev/infiniband has a uverbs device
    locked_memory_limit_bytes: int | Missing = UNCOLLECTED  # RLIMIT_MEMLOCK of this session; not_found: unlimited
