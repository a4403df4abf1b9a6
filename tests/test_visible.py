"""CUDA_VISIBLE_DEVICES against what the CUDA driver did with it.

ORACLE holds what cuInit, cuDeviceGetCount and cuDeviceGetPCIBusId answered for each value on two H200 (driver
580.159.04, 2026-11-30): the places of the GPUs in CUDA's order, none where cuInit said 100 (no device) or 101.
UUIDs are the CUDA programming guide's example in place of the machine's own.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, Missing
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice
from gonogo.node.facts.sections.launch import Launch
from gonogo.platforms.visible import Visible, visible_devices

ORACLE: dict[str, list[int]] = {
    "": [],
    " ": [],
    "0": [0],
    "1": [1],
    "1,0": [1, 0],
    "0,0": [],
    "0,1,0": [],
    "1,0,0": [],
    "0,0,1": [],
    "-1": [],
    "0,-1,1": [0],
    "1,-1": [1],
    "2": [],
    "0,2": [0],
    "0,5,1": [0],
    "a": [],
    "0,a,1": [0],
    "1gpu": [1],
    "0gpu,1x": [0, 1],
    "0 ,1": [0, 1],
    " 0": [0],
    "0, 1": [0, 1],
    " 1 , 0 ": [1, 0],
    "+1": [1],
    "01": [1],
    "0x1": [0],
    "0x0,1": [0, 1],
    "0.5": [0],
    "0;1": [0],
    "0 1": [0],
    "0,,1": [0],
    ",0": [],
    "0,": [0],
    "4294967296": [0],
    "4294967297": [1],
    "1e0": [1],
    "all": [],
    "none": [],
    "NoDevFiles": [],
    "0-1": [0],
    "0:1": [0],
    "-0": [0],
    "1\n": [1],
    "1,GPU-8932f937-d72c-4106-c12f-20bd9faed9f6": [1],
    "0,MIG-x": [0],
    " GPU-8932f937-d72c-4106-c12f-20bd9faed9f6": [],
    "gpu-8932f937-d72c-4106-c12f-20bd9faed9f6": [],
}


def gpus(*names: str, mig: bool = False) -> Gpu:
    return Gpu(devices=tuple(GpuDevice(place, name, mig_enabled=mig) for place, name in enumerate(names)))


TWO = gpus("NVIDIA H200", "NVIDIA H200")
MIXED = gpus("NVIDIA T400", "NVIDIA RTX PRO 6000", "NVIDIA T400")


def launched(value: str | None, order: str | None = None) -> Launch:
    variables = {"CUDA_VISIBLE_DEVICES": value, "CUDA_DEVICE_ORDER": order}
    return Launch(variables={name: text for name, text in variables.items() if text is not None})


def places(visible: Visible) -> list[int]:
    return [device.device_index for device in visible.devices]


@pytest.mark.parametrize("value", ORACLE)
def test_lists_of_numbers_are_read_as_the_driver_reads_them(value: str) -> None:
    visible = visible_devices(TWO, launched(value))
    assert (places(visible), visible.certain, visible.number) == (ORACLE[value], True, len(ORACLE[value]))


def test_without_the_variable_all_are_seen() -> None:
    assert visible_devices(TWO, launched(None)) == Visible(TWO.devices, True, 2)  # type: ignore[arg-type]
    assert visible_devices(gpus(), launched(None)) == Visible((), True, 0)


@pytest.mark.parametrize("value", ["GPU-8932f937", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,1", "MIG-GPU-1/0/0"])
def test_lists_of_uuids_cannot_be_told(value: str) -> None:
    visible = visible_devices(TWO, launched(value))
    assert (places(visible), visible.certain, visible.number) == ([0, 1], False, None)


def test_different_gpus_are_told_apart_only_in_bus_order() -> None:
    """The guide: without CUDA_DEVICE_ORDER=PCI_BUS_ID the fastest comes first and the order of the rest is open."""
    assert places(visible_devices(MIXED, launched("1", "PCI_BUS_ID"))) == [1]
    for order in (None, "FASTEST_FIRST"):
        visible = visible_devices(MIXED, launched("0", order))
        assert (places(visible), visible.certain, visible.number) == ([0, 1, 2], False, 1)
        assert visible_devices(MIXED, launched("-1", order)) == Visible((), True, 0)
        assert visible_devices(MIXED, launched("2,1,0", order)).certain


def test_a_partitioned_gpu_cannot_be_counted() -> None:
    assert visible_devices(gpus("NVIDIA H200", mig=True), launched(None)).number is None
    assert not visible_devices(gpus("NVIDIA H200", mig=True), launched("0")).certain


def test_without_facts_nothing_is_certain() -> None:
    lost = Missing(NOT_FOUND)
    assert visible_devices(lost, launched("0")) == Visible((), False)
    assert visible_devices(Gpu(devices=lost), launched("0")) == Visible((), False)
    for launch in (Missing(NOT_COLLECTED), Launch()):
        visible = visible_devices(TWO, launch)
        assert (places(visible), visible.certain) == ([0, 1], False)
    nameless = Gpu(devices=(GpuDevice(0), GpuDevice(1)))
    assert not visible_devices(nameless, launched("1")).certain


def test_a_list_that_was_cut_is_not_believed() -> None:
    assert not visible_devices(TWO, launched(",".join(["1", *["0"] * 100])[:200])).certain


@given(st.text(max_size=60), st.integers(0, 4))
def test_any_value_gives_some_of_the_gpus(value: str, number: int) -> None:
    visible = visible_devices(gpus(*["NVIDIA H200"] * number), launched(value))
    assert set(places(visible)) <= set(range(number))
    assert len(set(places(visible))) == len(visible.devices)
