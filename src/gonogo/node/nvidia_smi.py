"""GPU facts from ``nvidia-smi --query-gpu``: the fallback where NVML's library or its binding is missing."""

from __future__ import annotations

import csv
import re
from typing import Callable, Iterator, TypeVar

from gonogo.node.facts.missing import FAILED, NOT_FOUND, NOT_SUPPORTED, Missing
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice
from gonogo.node.parse.event_reasons import active_reasons
from gonogo.node.ports.host import Host

LIMIT_SECONDS = 1.8  # less than the collector has, so that its own words arrive
MIB = 1 << 20

#: Fact to nvidia-smi's property. Event reasons are asked for by their old name, which every branch still answers.
PROPERTIES = {
    "index": "index",
    "name": "name",
    "pci_bus_id": "pci.bus_id",
    "pci_device_id": "pci.device_id",
    "compute_capability": "compute_cap",
    "driver_version": "driver_version",
    "memory_total": "memory.total",
    "memory_free": "memory.free",
    "memory_used": "memory.used",
    "power": "power.draw",
    "power_limit": "enforced.power.limit",
    "temperature": "temperature.gpu",
    "clock_sm": "clocks.sm",
    "clock_sm_max": "clocks.max.sm",
    "clock_memory": "clocks.mem",
    "utilization": "utilization.gpu",
    "performance_state": "pstate",
    "event_reasons": "clocks_throttle_reasons.active",
}
Value = TypeVar("Value")


def collect(host: Host, why: Missing) -> Gpu | Missing:
    """Missing(not_found), with the reason ``why`` NVML was not used, when there is no nvidia-smi either."""
    query = ",".join(PROPERTIES.values())
    answer = host.commands.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"], LIMIT_SECONDS)
    if isinstance(answer, Missing):
        if answer.reason == NOT_FOUND:
            return Missing(NOT_FOUND, f"{why.detail}; no nvidia-smi either" if why.detail else "")
        return Gpu(source="nvidia-smi", devices=Missing(answer.reason, f"nvidia-smi: {answer.detail}"))
    text = answer.output.decode("utf-8", "replace")
    if answer.status != 0:  # its errors come on standard output
        lines = (text + answer.errors.decode("utf-8", "replace")).strip().splitlines()
        said = lines[0].strip() if lines else answer.ending()
        return Gpu(source="nvidia-smi", devices=Missing(FAILED, f"nvidia-smi: {said}"))
    rows = parse(text)
    if not rows:
        return Gpu(source="nvidia-smi", devices=Missing(FAILED, "nvidia-smi printed no table"))
    return Gpu(source="nvidia-smi", driver_version=rows[0][0], devices=tuple(device for _, device in rows))


def parse(text: str) -> list[tuple[str | Missing, GpuDevice]]:
    """Driver version and device of each row of the table; rows with another number of columns are passed over."""
    found = []
    for row in _rows(text):
        if len(row) == len(PROPERTIES) and re.match(r"[0-9]{1,4}$", row[0].strip()):
            cells = dict(zip(PROPERTIES, (cell.strip() for cell in row)))
            found.append((_cell(cells, "driver_version", str), _device(cells)))
    return found


def _rows(text: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(text.replace("\0", "").splitlines(), skipinitialspace=True)
    except csv.Error:  # a cell of more than 128 KiB: no table of nvidia-smi's
        return


def _device(cells: dict[str, str]) -> GpuDevice:
    reasons = _cell(cells, "event_reasons", lambda text: int(text, 16))
    return GpuDevice(
        device_index=int(cells["index"]),
        name=_cell(cells, "name", str),
        pci_bus_id=_cell(cells, "pci_bus_id", str),
        pci_device_id=_cell(cells, "pci_device_id", _pci_id),
        compute_capability=_cell(cells, "compute_capability", str),
        memory_total_bytes=_cell(cells, "memory_total", _mebibytes),
        memory_free_bytes=_cell(cells, "memory_free", _mebibytes),
        memory_used_bytes=_cell(cells, "memory_used", _mebibytes),
        power_watts=_cell(cells, "power", _finite),
        power_limit_watts=_cell(cells, "power_limit", _finite),
        temperature_celsius=_cell(cells, "temperature", int),
        clock_sm_mhz=_cell(cells, "clock_sm", int),
        clock_sm_max_mhz=_cell(cells, "clock_sm_max", int),
        clock_memory_mhz=_cell(cells, "clock_memory", int),
        utilization_gpu_percent=_cell(cells, "utilization", int),
        performance_state=_cell(cells, "performance_state", lambda text: int(text.lstrip("P"))),
        event_reasons_active=reasons if isinstance(reasons, Missing) else active_reasons(reasons),
    )


def _cell(cells: dict[str, str], name: str, convert: Callable[[str], Value | None]) -> Value | Missing:
    text = cells[name]
    if "not supported" in text.lower() or text.strip("[]").lower() in ("n/a", "not found", ""):
        return Missing(NOT_SUPPORTED)
    if text.startswith("[") and text.endswith("]"):  # [GPU is lost], [Unknown Error]
        return Missing(FAILED, text.strip("[]"))
    try:
        value = convert(text)
    except ValueError:
        value = None
    if value is None or (isinstance(value, (int, float)) and not abs(value) < 1 << 63):
        return Missing(FAILED, f"nvidia-smi printed {text[:40]!r}")
    return value


def _mebibytes(text: str) -> int:
    return int(text) * MIB


def _finite(text: str) -> float | None:
    value = float(text)
    return value if abs(value) < 1e6 else None


def _pci_id(text: str) -> str | None:
    found = re.match(r"0x([0-9A-Fa-f]{4})([0-9A-Fa-f]{4})$", text)
    return f"{found.group(2)}:{found.group(1)}".lower() if found else None
