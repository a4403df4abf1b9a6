"""Partial facts out of a log's lines: what it holds of memory, launch environment and torch, with the lines of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gonogo.logs.device import Device
from gonogo.logs.readings import environment, memory, rows
from gonogo.logs.scanning import Line
from gonogo.node.facts.missing import NOT_FOUND, UNCOLLECTED, Missing
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice
from gonogo.node.facts.sections.identity import Identity, PciDevice
from gonogo.node.facts.sections.launch import Launch
from gonogo.node.facts.sections.memory import Memory
from gonogo.node.facts.sections.python import Python, Torch
from gonogo.telemetry.series import Series

LITERALS = (*rows.LITERALS, *memory.LITERALS, *environment.LITERALS)

#: What a log that names a Spark says of its identity, as facts: judges ask for a platform.
SPARK = Identity(nvidia_pci_devices=(PciDevice("000f:01:00.0", "10de", "2e12", "030000"),))


class Partial(NamedTuple):
    """``sections`` of facts and a ``series``; ``lines`` are those each section was read from."""

    sections: Mapping[str, Any]
    lines: Mapping[str, tuple[Line, ...]]
    series: Series = ()
    series_lines: tuple[Line, ...] = ()


def read(lines: Sequence[Line], device: Device) -> Partial:
    """The partial facts that ``lines`` hold."""
    sections: dict[str, Any] = {}
    places: dict[str, list[int]] = {}
    figures, places["memory"] = memory.section(lines)
    if figures:
        sections["memory"] = Memory(**figures)
    variables, places["launch"] = environment.variables(lines)
    if variables:
        sections["launch"] = Launch(variables=variables)
    torch, places["python"] = environment.torch_environment(lines)
    if torch:
        sections.update(_torch_sections(torch))
    if device.spark:
        sections["identity"] = SPARK
    found = {name: tuple(lines[place] for place in places.get(name, ())) for name in sections}
    return Partial(sections, found, rows.series(lines), tuple(lines))


def _torch_sections(read_: Mapping[str, Any]) -> dict[str, Any]:
    """The judged environment as collect_env tells it, and the GPUs whose names it printed."""
    cuda: str | Missing = Missing(NOT_FOUND) if read_.get("cuda", "") is None else read_.get("cuda", UNCOLLECTED)
    if re.search(r"\+cpu$", read_["version"]):
        cuda = Missing(NOT_FOUND)
    torch = Torch(folder="torch", version=read_["version"], cuda=cuda, hip=Missing(NOT_FOUND))
    sections: dict[str, Any] = {"python": Python("python", "the log", start=True, torch=torch)}
    names = read_.get("names", {})
    if names:
        devices = tuple(GpuDevice(device_index=index, name=name) for index, name in sorted(names.items()))
        sections["gpu"] = Gpu(driver_version=read_.get("driver", UNCOLLECTED), devices=devices)
    return sections
