"""Memory: /proc/meminfo, memory pressure (PSI) and the paging counters of /proc/vmstat."""

from __future__ import annotations

from typing import Callable, Mapping, TypeVar

from gonogo.node.facts.missing import NOT_FOUND, Missing
from gonogo.node.facts.sections.memory import Memory
from gonogo.node.parse import keyed
from gonogo.node.ports.host import Host

Number = TypeVar("Number", int, float)


def collect(host: Host) -> Memory | Missing:
    """Missing when there is no readable meminfo; pressure and counters are facts of their own."""
    text = host.files.text("/proc/meminfo")
    if isinstance(text, Missing):
        return text
    meminfo = keyed.meminfo(text)
    if not meminfo:
        return Missing("failed", "/proc/meminfo holds no figures")
    pressure = _parsed(host, "/proc/pressure/memory", keyed.pressure)
    vmstat = _parsed(host, "/proc/vmstat", keyed.vmstat)
    return Memory(
        total_bytes=_pick(meminfo, "MemTotal"),
        free_bytes=_pick(meminfo, "MemFree"),
        available_bytes=_pick(meminfo, "MemAvailable"),
        buffers_bytes=_pick(meminfo, "Buffers"),
        cached_bytes=_pick(meminfo, "Cached"),
        shared_bytes=_pick(meminfo, "Shmem"),
        reclaimable_slab_bytes=_pick(meminfo, "SReclaimable"),
        swap_total_bytes=_pick(meminfo, "SwapTotal"),
        swap_free_bytes=_pick(meminfo, "SwapFree"),
        huge_pages_total=_pick(meminfo, "HugePages_Total"),
        huge_pages_free=_pick(meminfo, "HugePages_Free"),
        huge_page_size_bytes=_pick(meminfo, "Hugepagesize"),
        cma_total_bytes=_pick(meminfo, "CmaTotal"),
        cma_free_bytes=_pick(meminfo, "CmaFree"),
        pressure_some_avg10_percent=_pick(pressure, "some_avg10"),
        pressure_some_avg60_percent=_pick(pressure, "some_avg60"),
        pressure_full_avg10_percent=_pick(pressure, "full_avg10"),
        pressure_full_avg60_percent=_pick(pressure, "full_avg60"),
        swapped_in_pages=_pick(vmstat, "pswpin"),
        swapped_out_pages=_pick(vmstat, "pswpout"),
        oom_kills=_pick(vmstat, "oom_kill"),
    )


def _parsed(host: Host, path: str, parse: Callable[[str], dict[str, Number]]) -> dict[str, Number] | Missing:
    text = host.files.text(path)
    return text if isinstance(text, Missing) else parse(text)


def _pick(values: Mapping[str, Number] | Missing, key: str) -> Number | Missing:
    if isinstance(values, Missing):
        return values
    return values.get(key, Missing(NOT_FOUND))
