"""Network facts, on hand-made /sys trees and beside what ip(8) says here. Expected values are the files' own.

The tree of a Spark follows published listings: NVIDIA/dgx-spark-playbooks (ibdev2netdev), geerlingguy/sbc-reviews#92.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_host import host, reason

from gonogo.node.collect import network
from gonogo.node.facts.codec import encode_value
from gonogo.node.facts.missing import FAILED, NOT_FOUND, NOT_SUPPORTED, PERMISSION_DENIED, Missing
from gonogo.node.facts.sections.network import Interface, RdmaDevice
from gonogo.node.parse import network as parse
from gonogo.node.ports import recording
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import Host, live_host

ROUTE_HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
#: 192.168.100.0/24 and 192.168.101.0/24 on the two functions, the default route by the 10G port's 192.168.1.0/24.
ROUTES = ROUTE_HEAD + "".join(
    f"{name}\t{destination}\t{gateway}\t{flags}\t0\t0\t100\t{mask}\t0\t0\t0   \n"
    for name, destination, gateway, flags, mask in (
        ("enP7s7", "00000000", "0101A8C0", "0003", "00000000"),
        ("enP7s7", "0001A8C0", "00000000", "0001", "00FFFFFF"),
        ("enp1s0f0np0", "0064A8C0", "00000000", "0001", "00FFFFFF"),
        ("enP2p1s0f0np0", "0065A8C0", "00000000", "0001", "00FFFFFF"),
    )
)
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max processes             96364                96364                processes \n"
    "Max locked memory         8388608              unlimited            bytes     \n"
)
VIRTUAL = "/sys/devices/virtual/net"


def function(root: Path, name: str, address: str, device: str = "", **files: str) -> dict[str, str | bytes | None]:
    """Files of one function below ``root``, and its links; ``device`` lies below the PCI device (virtio2)."""
    pci = f"/sys/devices/pci{address[:4]}:00/{address}"
    parent = f"{pci}/{device}".rstrip("/")
    own = {"operstate": "up", "carrier": "1", "speed": "200000", "mtu": "9000", **files}
    ids = {key: own.pop(key) for key in list(own) if key.startswith(("vendor", "pci_", "current_", "max_"))}
    ids["device"] = ids.pop("pci_device", "0x1021")
    width = {"current_link_width": "4", "max_link_width": "16", "current_link_speed": "32.0 GT/s PCIe"}
    listed = {"vendor": "0x15b3", **width, **ids}
    link(root, f"/sys/bus/pci/devices/{address}", pci)
    link(root, f"/sys/class/net/{name}", f"{parent}/net/{name}")
    link(root, f"{parent}/net/{name}/device", parent)
    link(root, f"{parent}/driver", "/sys/bus/pci/drivers/mlx5_core")
    return {f"{parent}/net/{name}/{key}": f"{value}\n" for key, value in own.items()} | {
        f"{pci}/{key}": f"{value}\n" for key, value in listed.items()
    }


def link(root: Path, path: str, target: str) -> None:
    (root / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(root / target.lstrip("/"), place.parent))


def rdma(root: Path, name: str, interface: str, address: str, state: str, rate: str) -> dict[str, str | bytes | None]:
    link(root, f"/sys/class/infiniband/{name}/device", f"/sys/devices/pci{address[:4]}:00/{address}")
    port = f"/sys/class/infiniband/{name}/ports/1"
    return {f"{port}/state": f"{state}\n", f"{port}/rate": f"{rate}\n", f"{port}/link_layer": "Ethernet\n"}


def spark(root: Path) -> Host:
    """The left cage cabled, the right one not, the 10G port in use; a bridge that is no hardware."""
    down = {"operstate": "down", "speed": "-1", "mtu": "1500"}
    realtek = {"vendor": "0x10ec", "pci_device": "0x8127", "current_link_width": "1", "max_link_width": "1"}
    files = {
        **function(root, "enp1s0f0np0", "0000:01:00.0"),
        **function(root, "enp1s0f1np1", "0000:01:00.1", **down),
        **function(root, "enP2p1s0f0np0", "0002:01:00.0"),
        **function(root, "enP2p1s0f1np1", "0002:01:00.1", **down),
        **function(root, "enP7s7", "0007:01:00.0", speed="10000", mtu="1500", **realtek),
        **rdma(root, "rocep1s0f0", "enp1s0f0np0", "0000:01:00.0", "4: ACTIVE", "200 Gb/sec (4X HDR)"),
        **rdma(root, "rocep1s0f1", "enp1s0f1np1", "0000:01:00.1", "1: DOWN", "40 Gb/sec (4X QDR)"),
        f"{VIRTUAL}/docker0/operstate": "down\n",
        "/dev/infiniband/uverbs0": "",
        "/dev/infiniband/rdma_cm": "",
        "/proc/net/route": ROUTES,
        "/proc/self/limits": LIMITS,
    }
    link(root, "/sys/class/net/docker0", f"{VIRTUAL}/docker0")
    return host(root, files)


def test_a_spark_with_one_cable(tmp_path: Path) -> None:
    facts = network.collect(spark(tmp_path))
    assert not isinstance(facts.interfaces, Missing)
    by_name = {interface.name: interface for interface in facts.interfaces}
    assert list(by_name) == ["enP2p1s0f0np0", "enP2p1s0f1np1", "enP7s7", "enp1s0f0np0", "enp1s0f1np1"]
    assert by_name["enp1s0f0np0"] == Interface(
        name="enp1s0f0np0",
        pci_address="0000:01:00.0",
        pci_device_id="15b3:1021",
        driver="mlx5_core",
        link_up=True,
        speed_megabit_per_s=200_000,
        mtu_bytes=9000,
        bond=Missing(NOT_FOUND),
        has_ipv4_route=True,
        same_subnet_as=(),
        pci_link_width=4,
        pci_link_width_max=16,
        pci_link_gigatransfer_per_s=32.0,
    )
    idle = by_name["enp1s0f1np1"]
    assert (idle.link_up, idle.mtu_bytes, idle.has_ipv4_route) == (False, 1500, False)
    assert idle.speed_megabit_per_s == Missing(NOT_FOUND)
    lan = by_name["enP7s7"]
    assert (lan.pci_device_id, lan.speed_megabit_per_s, lan.pci_link_width) == ("10ec:8127", 10_000, 1)
    assert facts.rdma_devices == (
        RdmaDevice("rocep1s0f0", "enp1s0f0np0", "ACTIVE", 200.0, "Ethernet"),
        RdmaDevice("rocep1s0f1", "enp1s0f1np1", "DOWN", 40.0, "Ethernet"),
    )
    assert (facts.rdma_device_nodes, facts.locked_memory_limit_bytes) == (True, 8_388_608)


def test_both_functions_in_one_subnet(tmp_path: Path) -> None:
    made = spark(tmp_path)
    routes = ROUTES.replace("0065A8C0", "0064A8C0")
    facts = network.collect(host(tmp_path, {"/proc/net/route": routes})._replace(files=made.files))
    assert not isinstance(facts.interfaces, Missing)
    assert {i.name: i.same_subnet_as for i in facts.interfaces if i.same_subnet_as} == {
        "enp1s0f0np0": ("enP2p1s0f0np0",),
        "enP2p1s0f0np0": ("enp1s0f0np0",),
    }


def test_no_address_reaches_a_record(tmp_path: Path) -> None:
    into = recording.empty()
    facts = network.collect(recording.recording_host(spark(tmp_path), into))
    text = json.dumps(into)
    assert "A8C0" not in text
    assert "/proc/net/route" in into["files"]["reduced"] and "/proc/net/route" not in into["files"]["read"]
    assert network.collect(recording.replayed_host(json.loads(text))) == facts


def test_a_bond_and_a_bridge(tmp_path: Path) -> None:
    files = {
        **function(tmp_path, "enp1s0f0np0", "0000:01:00.0"),
        **function(tmp_path, "enP2p1s0f0np0", "0002:01:00.0"),
        f"{VIRTUAL}/bond0/bonding/mode": "802.3ad 4\n",
        f"{VIRTUAL}/br0/bridge/bridge_id": "8000.000000000000\n",
    }
    for master, address, name in (("bond0", "0000:01:00.0", "enp1s0f0np0"), ("br0", "0002:01:00.0", "enP2p1s0f0np0")):
        link(tmp_path, f"/sys/class/net/{master}", f"{VIRTUAL}/{master}")
        pci = f"/sys/devices/pci{address[:4]}:00/{address}"
        link(tmp_path, f"{pci}/net/{name}/master", f"{VIRTUAL}/{master}")
    facts = network.collect(host(tmp_path, files))
    assert not isinstance(facts.interfaces, Missing)
    assert {i.name: i.bond for i in facts.interfaces} == {"enp1s0f0np0": "bond0", "enP2p1s0f0np0": Missing(NOT_FOUND)}
    assert reason(facts.interfaces[0].has_ipv4_route) == reason(facts.interfaces[0].same_subnet_as) == NOT_FOUND


def test_virtual_machines_and_usb(tmp_path: Path) -> None:
    files = function(tmp_path, "eth0", "0000:00:03.0", "virtio2", speed="-1", operstate="unknown", vendor="0x1af4")
    link(tmp_path, "/sys/class/net/enx0/device", "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0")
    facts = network.collect(host(tmp_path, files))
    assert not isinstance(facts.interfaces, Missing)
    (card,) = facts.interfaces  # the USB adapter is on no PCI bus of its own
    assert (card.pci_address, card.pci_device_id, card.link_up) == ("0000:00:03.0", "1af4:1021", True)
    assert card.speed_megabit_per_s == Missing(NOT_FOUND)


def test_what_a_driver_cannot_say(tmp_path: Path) -> None:
    class Refusing(Files):
        def read(self, path: str, limit_bytes: int = 0) -> bytes | Missing:
            answers = {
                "speed": Missing(FAILED, "Invalid argument"),  # EINVAL, as of a Wi-Fi card
                "mtu": b"\xff\xfe" * 100,
                "current_link_speed": b"Unknown\n",
                "current_link_width": b"63\n",
                "limits": Missing(PERMISSION_DENIED),
                "state": b"9\n",
                "rate": b"\n",
            }
            return answers.get(path.rpartition("/")[2]) or super().read(path, 4096)

    facts = network.collect(spark(tmp_path)._replace(files=Refusing(str(tmp_path))))
    assert not isinstance(facts.interfaces, Missing) and not isinstance(facts.rdma_devices, Missing)
    card = facts.interfaces[0]
    assert [reason(fact) for fact in (card.speed_megabit_per_s, card.mtu_bytes)] == [NOT_SUPPORTED, FAILED]
    assert [reason(fact) for fact in (card.pci_link_width, card.pci_link_gigatransfer_per_s)] == [NOT_FOUND, FAILED]
    assert {reason(fact) for fact in facts.rdma_devices[0][2:4]} == {FAILED}
    assert reason(facts.locked_memory_limit_bytes) == NOT_SUPPORTED
    json.dumps(encode_value(facts))


def test_a_machine_without_any(tmp_path: Path) -> None:
    facts = network.collect(host(tmp_path))
    assert [reason(fact) for fact in (facts.interfaces, facts.rdma_devices)] == [NOT_FOUND, NOT_FOUND]
    unlimited = LIMITS.replace("8388608  ", "unlimited")
    facts = network.collect(host(tmp_path, {"/proc/self/limits": unlimited, "/dev/infiniband/rdma_cm": ""}))
    assert facts.locked_memory_limit_bytes == Missing(NOT_FOUND, "unlimited")
    assert facts.rdma_device_nodes is False  # the connection manager alone is no device


def test_hundreds_of_functions_are_cut(tmp_path: Path) -> None:
    files: dict[str, Any] = {}
    for number in range(70):
        files |= function(tmp_path, f"eth{number:03}", f"0000:{number:02x}:00.0")
    facts = network.collect(host(tmp_path, files))
    assert not isinstance(facts.interfaces, Missing)
    assert [interface.name for interface in facts.interfaces] == [f"eth{number:03}" for number in range(64)]


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: (ROUTES + text).encode())))
def test_no_input_makes_a_parser_raise(content: bytes) -> None:
    text = content.decode("utf-8", "replace")
    json.dumps(parse.connected_subnets(content))
    for read in (parse.pci_address, parse.whole_number, parse.gigatransfers, parse.port_state, parse.port_rate):
        json.dumps(read(text))
    parse.locked_memory_limit(text)


def test_routes_that_lead_through_a_gateway_or_nowhere() -> None:
    lines = [
        "eth0\t0064A8C0\t0164A8C0\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0",  # by a gateway
        "eth0\t0064A8C0\t00000000\t0000\t0\t0\t0\t00FFFFFF\t0\t0\t0",  # not up
        "eth0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0",  # default route of a point-to-point link
        "*\t0064A8C0\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0",  # unreachable
        "eth1\t0064A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0",
        "eth2\t0064A8C0\t00000000\t0001\t0\t0\t0\t0000FF",  # cut
    ]
    assert parse.connected_subnets((ROUTE_HEAD + "\n".join(lines)).encode()) == {"eth1": [0]}


HAS_IP = shutil.which("ip") is not None and Path("/sys/class/net").exists()


@pytest.mark.skipif(not Path("/sys/class/net").exists(), reason="no /sys/class/net")
def test_interfaces_of_this_machine() -> None:
    facts = network.collect(live_host())
    shell = (
        r'for d in /sys/class/net/*/device; do n=${d%/device}; echo "${n##*/} $(cat $n/mtu) $(readlink -f $d)"; done'
    )
    listing = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    on_pci = {row[0]: int(row[1]) for row in rows if re.search(r"/[0-9a-f:.]{12,}(/virtio\d+)?$", row[-1])}
    assert not isinstance(facts.interfaces, Missing)
    assert {interface.name: interface.mtu_bytes for interface in facts.interfaces} == on_pci


@pytest.mark.skipif(not HAS_IP, reason="no ip(8)")
def test_links_of_this_machine_agree_with_ip() -> None:
    listed = json.loads(subprocess.run(["ip", "-j", "link"], capture_output=True, check=True).stdout)
    states = {entry["ifname"]: entry for entry in listed}
    facts = network.collect(live_host())
    for interface in () if isinstance(facts.interfaces, Missing) else facts.interfaces:
        entry = states[interface.name]
        assert interface.mtu_bytes == entry["mtu"]
        if entry["operstate"] in ("UP", "DOWN"):
            assert interface.link_up == (entry["operstate"] == "UP")


MAKE_NETWORK = """
ip link add a0 type veth peer name a1 && ip link add b0 type veth peer name b1 || exit 77
for n in a0 a1 b0 b1; do ip link set $n up; done
ip addr add 198.51.100.1/25 dev a0; ip addr add 198.51.100.2/25 dev a1
ip addr add 203.0.113.1/24 dev b0; ip addr add 192.0.2.1/30 dev b0; ip addr add 203.0.113.9/28 dev b1
ip route add 192.0.2.128/25 via 203.0.113.7; ip route add default via 203.0.113.7
ip route add unreachable 192.0.2.64/26
cat /proc/net/route; echo ----; ip -j route
"""


@pytest.mark.skipif(not HAS_IP or shutil.which("unshare") is None, reason="no ip(8) or unshare(1)")
def test_subnets_agree_with_ip_in_a_network_of_our_own() -> None:
    """Documentation addresses on two cables in a network namespace that ends with its shell."""
    made = subprocess.run(["unshare", "-n", "sh", "-c", MAKE_NETWORK], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip("network namespaces or veth are not to be had here")
    kernel, _, listed = made.stdout.partition("----\n")
    wanted: dict[str, set[str]] = {}
    for route in json.loads(listed):
        if route.get("scope") == "link" and "gateway" not in route and "dev" in route:
            wanted.setdefault(route["dev"], set()).add(route["dst"])
    found = parse.connected_subnets(kernel.encode())
    assert {name: len(own) for name, own in found.items()} == {name: len(own) for name, own in wanted.items()}
    assert len(wanted["b0"]) == 2
    for one, other in itertools.combinations(wanted, 2):
        assert bool(set(found[one]) & set(found[other])) == bool(wanted[one] & wanted[other]), (one, other)
