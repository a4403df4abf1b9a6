"""G10 on machines made from the stories by one change each.

Expected values: the status table (INFO, WARN), NCCL 2.30's own reading of its variables, published two-Spark listings.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_stories import load_all

from gonogo.finding import INFO, SKIP, UNKNOWN, WARN, Finding, rank
from gonogo.gotchas.g10_two_sparks import nccl
from gonogo.node.facts.codec import decode
from gonogo.preflight import Request, judge

STORIES = {story.name: story for story in load_all()}
IDLE, PAIR, H200 = "spark-idle-2026", "spark-pair-roce-healthy", "h200-eight-gpus-world-size-8"
CONTAINER = "spark-container-no-host-view"
LEFT = ("enp1s0f0np0", "enP2p1s0f0np0")
FAILED = {"missing": "failed", "detail": "broke"}


class Machine:
    """A story's facts, to be changed and judged for G10 alone."""

    def __init__(self, name: str, **variables: str) -> None:
        self.document = copy.deepcopy(STORIES[name].document)
        self.sections: dict[str, Any] = self.document["sections"]
        self.sections["launch"] = {"variables": variables}

    def on(self, *names: str, **facts: Any) -> Machine:
        """Change interfaces or RDMA devices of these names."""
        for row in [*self.sections["network"]["interfaces"], *self.sections["network"]["rdma_devices"]]:
            if row["name"] in names:
                row.update(facts)
        return self

    def network(self, **facts: Any) -> Machine:
        self.sections["network"].update(facts)
        return self

    def judged(self, platform: str | None = None) -> list[Finding]:
        return judge(decode(self.document), Request(platform)).of("G10")

    def codes(self, at_least: str = INFO, **request: Any) -> dict[str, str]:
        """Code to status, without what only describes."""
        found = self.judged(**request)
        return {item.code: item.status for item in found if rank(item.status) >= rank(at_least)}

    def line(self) -> str:
        """What the environment's finding says."""
        (item,) = [f for f in self.judged() if f.code in ("G10.environment", "G10.skipped", "G10.world-size")]
        return item.message


# -- the environment's line -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "variables", "line"),
    [
        (PAIR, {"WORLD_SIZE": "2"}, "WORLD_SIZE 2, 1 local GPU: several nodes; 2 of 4 fabric functions up, MTU 9000"),
        (IDLE, {"WORLD_SIZE": "2"}, "WORLD_SIZE 2, 1 local GPU: several nodes; none of 4 fabric functions up"),
        (IDLE, {"WORLD_SIZE": "1"}, "WORLD_SIZE 1, 1 local GPU: one node; none of 4 fabric functions up"),
        # Two ranks on one GPU, as a test of gloo starts them.
        (IDLE, {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}, "LOCAL_WORLD_SIZE 2, 1 local GPU: one node"),
        (IDLE, {"WORLD_SIZE": "2", "NNODES": "1"}, "WORLD_SIZE 2, 1 local GPU: one node"),
        (IDLE, {"SLURM_NNODES": "2"}, "WORLD_SIZE not set, SLURM_NNODES 2, 1 local GPU: several nodes"),
        (IDLE, {"NODE_RANK": "1"}, "NODE_RANK 1, 1 local GPU: several nodes"),
        (IDLE, {"NODE_RANK": "0", "NNODES": "1"}, "one node, no launch configuration judged"),
        (IDLE, {"MASTER_ADDR": "loopback"}, "one node, no launch configuration judged"),
        (IDLE, {"MASTER_ADDR": "set"}, "WORLD_SIZE not set, 1 local GPU; none"),
        (H200, {"WORLD_SIZE": "16"}, "WORLD_SIZE 16, 8 local GPUs: several nodes; 8 of 9 RDMA devices active"),
        (H200, {"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}, "LOCAL_WORLD_SIZE 8, 8 local GPUs: several nodes"),
        (H200, {"WORLD_SIZE": "4"}, "WORLD_SIZE 4, 8 local GPUs: one node"),
        # Slurm may give each of the ranks one GPU to see: no proof of other nodes.
        (H200, {"WORLD_SIZE": "8", "CUDA_VISIBLE_DEVICES": "3"}, "WORLD_SIZE 8, 1 of 8 local GPUs visible; 8 of 9"),
        (H200, {"WORLD_SIZE": "9", "CUDA_VISIBLE_DEVICES": "0,1"}, "2 of 8 local GPUs visible: several nodes"),
        (H200, {"WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "0,1"}, "2 of 8 local GPUs visible: one node"),
        (H200, {"WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "GPU-8932f937"}, "WORLD_SIZE 2, 8 local GPUs; 8 of 9"),
    ],
)
def test_the_line(name: str, variables: dict[str, str], line: str) -> None:
    assert line in Machine(name, **variables).line()


@pytest.mark.parametrize("value", ["two", "0", "-1", "2.0", "\x1b[31m\n", "9" * 5000])
def test_a_world_size_that_is_no_number_is_named(value: str) -> None:
    (found,) = Machine(IDLE, WORLD_SIZE=value).judged()
    assert (found.code, found.status) == ("G10.world-size", INFO)
    assert "\n" not in found.message and "\x1b" not in found.message and len(found.message) < 300


def test_one_gpu_is_expected_where_a_spark_does_not_answer() -> None:
    made = Machine(IDLE, WORLD_SIZE="2")
    made.sections["gpu"] = FAILED
    assert "1 local GPU: several nodes" in made.line()
    elsewhere = Machine(H200, WORLD_SIZE="2")
    elsewhere.sections["gpu"] = FAILED
    assert "WORLD_SIZE 2, local GPUs unknown; " in elsewhere.line()
    elsewhere.sections["gpu"] = {"missing": "not_found"}
    assert "WORLD_SIZE 2, no local GPU; " in elsewhere.line()


def test_missing_facts_are_never_a_pass() -> None:
    made = Machine(IDLE)
    made.sections["network"] = FAILED
    assert made.codes() == {"G10.unknown": UNKNOWN}
    made.sections["launch"] = FAILED
    assert {item.status for item in made.judged()} == {UNKNOWN}
    del made.sections["network"], made.sections["launch"]
    assert {item.status for item in made.judged()} == {SKIP}


# -- the fabric -------------------------------------------------------------------------------------------------------


def test_functions_are_paired_by_address_and_not_by_name() -> None:
    made = Machine(PAIR).on(LEFT[0], name="fabric-a").on(LEFT[1], name="fabric-b", link_up=False)
    (found,) = [item for item in made.judged() if item.status == WARN]
    assert found.code == "G10.one-function-down"
    assert found.message.startswith("fabric-b is down while fabric-a ")
    assert "fabric-b" in found.fix[0].step


@pytest.mark.parametrize(
    ("names", "facts", "expected"),
    [
        (LEFT, {"mtu_bytes": 1500}, {"G10.small-mtu": WARN}),
        (LEFT[:1], {"mtu_bytes": 4200}, {"G10.small-mtu": WARN}),
        (LEFT, {"mtu_bytes": 9978}, {}),
        (LEFT, {"mtu_bytes": FAILED}, {}),
        (LEFT[1:], {"link_up": False}, {"G10.one-function-down": WARN}),
        (LEFT[1:], {"link_up": FAILED}, {}),
        (LEFT, {"bond": "bond0"}, {"G10.bonded": INFO}),
        (LEFT, {"same_subnet_as": [*LEFT]}, {"G10.one-subnet": INFO}),
        (LEFT[1:], {"same_subnet_as": ["enP7s7"]}, {}),
        (LEFT[1:], {"pci_link_width": 2}, {"G10.narrow-pcie": INFO}),  # firmware before April 2026
        (LEFT[1:], {"pci_link_gigatransfer_per_s": 16.0}, {"G10.narrow-pcie": INFO}),
        (("enp1s0f1np1", "enP2p1s0f1np1"), {"pci_link_width": 1, "mtu_bytes": 1500}, {}),  # the cage without a cable
        (("enP7s7",), {"link_up": False, "mtu_bytes": 1500}, {}),
        (("rocep1s0f1", "roceP2p1s0f1"), {"rate_gigabit_per_s": 10.0}, {}),
    ],
)
def test_one_change_to_a_healthy_pair(names: tuple[str, ...], facts: dict[str, Any], expected: dict[str, str]) -> None:
    found = Machine(PAIR).on(*names, **facts).codes()
    assert found == {"G10.environment": INFO, **expected}


def test_a_ring_of_three_with_both_cages_cabled_is_healthy() -> None:
    """NVIDIA/dgx-spark-playbooks connect-three-sparks: all four functions up; NCCL_IB_HCA names all four."""
    hca = "rocep1s0f0,roceP2p1s0f0,rocep1s0f1,roceP2p1s0f1"
    right = {"link_up": True, "speed_megabit_per_s": 200_000, "mtu_bytes": 9000}
    active = {"state": "ACTIVE", "rate_gigabit_per_s": 200.0}
    made = Machine(PAIR, WORLD_SIZE="3", NCCL_IB_HCA=hca).on("enp1s0f1np1", "enP2p1s0f1np1", **right)
    made.on("rocep1s0f1", "roceP2p1s0f1", **active)
    assert made.codes(WARN) == {}
    assert "4 of 4 fabric functions up, MTU 9000" in made.line()


@pytest.mark.parametrize("speed", [10_000, 25_000, 100_000])
def test_a_slower_port_is_an_ordinary_network_card(speed: int) -> None:
    made = Machine(PAIR, NCCL_IB_DISABLE="1", NCCL_IB_HCA="rocep1s0f0")
    made.on(*LEFT, speed_megabit_per_s=speed, mtu_bytes=1500).on(LEFT[1], link_up=False)
    made.on("rocep1s0f0", "roceP2p1s0f0", rate_gigabit_per_s=speed / 1000)
    assert made.codes() == {}


# -- NCCL's variables -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"NCCL_IB_DISABLE": "1"}, {"G10.rdma-off": WARN}),
        ({"NCCL_IB_DISABLE": "0x1"}, {"G10.rdma-off": WARN}),
        ({"NCCL_IB_DISABLE": "0"}, {}),
        ({"NCCL_IB_DISABLE": "true"}, {}),  # strtoll makes 0 of it
        ({"NCCL_IB_DISABLE": ""}, {}),
        ({"NCCL_NET": "Socket"}, {"G10.rdma-off": WARN}),
        ({"NCCL_NET": "IB"}, {}),
        ({"NCCL_NET_GDR_LEVEL": "5"}, {"G10.gdr-level": WARN}),
        ({"NCCL_NET_GDR_LEVEL": "PHB"}, {"G10.gdr-level": WARN}),
        ({"NCCL_NET_GDR_LEVEL": "0"}, {}),
        ({"NCCL_NET_GDR_LEVEL": "LOC"}, {}),
        ({"NCCL_NET_GDR_LEVEL": "phb"}, {}),  # NCCL knows no such word and ignores it
        ({"NCCL_IB_GID_INDEX": "3"}, {"G10.fixed-gid-index": INFO}),
        ({"NCCL_IB_GID_INDEX": "-1"}, {}),
        ({"NCCL_IB_GID_INDEX": ""}, {}),
        ({"NCCL_IB_HCA": "enp1s0f0np0"}, {"G10.interface-name": WARN}),
        ({"NCCL_IB_HCA": "=enp1s0f0np0:1"}, {"G10.interface-name": WARN}),
        ({"NCCL_IB_HCA": "rocep1s0f0,enP2p1s0f0np0"}, {"G10.interface-name": WARN}),
        ({"NCCL_IB_HCA": "^enp1s0f0np0"}, {}),
        ({"NCCL_IB_HCA": "rocep1s0f0:1,roceP2p1s0f0:1"}, {}),
        ({"NCCL_IB_HCA": "roce"}, {}),
        ({"NCCL_IB_HCA": ""}, {}),
        ({"NCCL_IB_HCA": "^rocep1s0f1"}, {}),
        # tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark#35: 98 instead of 161 Gb/s
        ({"NCCL_IB_HCA": "rocep1s0f0"}, {"G10.hca-one-function": WARN}),
        ({"NCCL_IB_HCA": "^roceP2p1s0f0"}, {"G10.hca-one-function": WARN}),
        ({"NCCL_IB_HCA": "=roce"}, {"G10.hca-not-active": WARN}),
        ({"NCCL_IB_HCA": "rocep1s0f0:2"}, {"G10.hca-not-active": WARN}),
        # MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#148: the cage that is not cabled
        ({"NCCL_IB_HCA": "rocep1s0f1"}, {"G10.hca-not-active": WARN}),
        ({"NCCL_IB_HCA": ",".join(["rocep1s0f0,roceP2p1s0f0"] * 20)[:200]}, {}),  # cut inside a name
        ({"NCCL_SOCKET_IFNAME": "enp1s0f0np0", "NCCL_DEBUG": "INFO", "NCCL_IB_MERGE_NICS": "1"}, {}),
    ],
)
def test_nccl_variables_on_a_healthy_pair(variables: dict[str, str], expected: dict[str, str]) -> None:
    assert Machine(PAIR, **variables).codes() == {"G10.environment": INFO, **expected}
    assert Machine(H200, **variables).codes() == {}  # a site's own affair anywhere else


@pytest.mark.parametrize("variable", ["NCCL_IB_DISABLE=1", "NCCL_NET=Socket", "NCCL_IB_HCA=rocep1s0f0"])
def test_a_single_spark_is_not_told_of_links_it_does_not_use(variable: str) -> None:
    name, _, value = variable.partition("=")
    assert Machine(IDLE, **{name: value}).codes() == {}


def test_the_right_names_stand_in_the_remedy() -> None:
    for made in (Machine(PAIR, NCCL_IB_HCA="enp1s0f0np0"), Machine(IDLE, NCCL_IB_HCA="enp1s0f0np0")):
        (found,) = [item for item in made.judged() if item.status == WARN]
        step = found.fix[-1].step
        assert "rocep1s0f0" in step and "roceP2p1s0f0" in step and "f1" not in step


def test_without_the_fabric_a_name_is_judged_by_its_spelling() -> None:
    made = Machine(IDLE, WORLD_SIZE="2", NCCL_IB_HCA="enp1s0f0np0,rocep1s0f0")
    made.network(interfaces=FAILED, rdma_devices=FAILED)
    (found,) = [item for item in made.judged() if item.status == WARN]
    assert (found.code, found.confidence) == ("G10.interface-name", "medium")
    made.sections["launch"]["variables"]["NCCL_IB_HCA"] = "mlx5_0,rocep1s0f0"
    assert made.codes(WARN) == {}


def test_another_machine_judged_as_a_spark_lends_it_no_fabric() -> None:
    made = Machine(H200, WORLD_SIZE="2", NCCL_IB_DISABLE="1")
    (found, line) = made.judged(platform="gb10")
    assert (found.code, line.message) == ("G10.rdma-off", "WORLD_SIZE 2, 1 local GPU: several nodes")


# -- containers -------------------------------------------------------------------------------------------------------


def test_a_container_without_what_rdma_needs() -> None:
    bridged = [row for row in STORIES[PAIR].sections["network"]["interfaces"] if row["name"] == "enP7s7"]
    made = Machine(CONTAINER, WORLD_SIZE="2").network(rdma_device_nodes=False, interfaces=bridged)
    (found,) = [item for item in made.judged() if item.code == "G10.container-without-fabric"]
    assert found.status == INFO
    assert "--device /dev/infiniband --network host --ulimit memlock=-1" in found.fix[0].step
    made.sections["launch"]["variables"] = {}
    assert "G10.container-without-fabric" not in made.codes()


def test_memory_that_a_container_may_lock() -> None:
    pair = STORIES[PAIR].sections["network"]
    unlimited = {"missing": "not_found", "detail": "unlimited"}
    made = Machine(CONTAINER, WORLD_SIZE="2").network(**pair).network(locked_memory_limit_bytes=8 << 20)
    assert made.codes() == {"G10.environment": INFO, "G10.memlock": INFO}
    assert made.network(locked_memory_limit_bytes=unlimited).codes() == {"G10.environment": INFO}
    host = Machine(PAIR, WORLD_SIZE="2").network(locked_memory_limit_bytes=8 << 20)
    assert host.codes() == {"G10.environment": INFO}


# -- hostile facts ----------------------------------------------------------------------------------------------------


def test_a_name_that_is_a_command_is_in_no_step() -> None:
    made = Machine(PAIR).on(LEFT[0], name="$(reboot)", mtu_bytes=1500).on("rocep1s0f0", name="x;reboot")
    text = " ".join(step.step + step.undo for item in made.judged() for step in item.fix)
    assert "reboot" not in text


@given(st.text(max_size=80))
def test_any_list_of_devices_can_be_read(text: str) -> None:
    wanted = nccl.hca_list(text)
    assert isinstance(wanted.selects("rocep1s0f0"), bool)
    assert isinstance(nccl.integer(text), int) and isinstance(nccl.direct_rdma_wanted(text), bool)
