"""System memory: /proc/meminfo, /proc/pressure/memory and /proc/vmstat. On GB10 this is the GPU's memory too."""

from __future__ import annotations

from typing import NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Memory(NamedTuple):
    """Bytes unless the name says otherwise; pressure is the share of time stalled, in percent (PSI)."""

    total_bytes: int | Missing = UNCOLLECTED
    free_bytes: int | Missing = UNCOLLECTED
    available_bytes: int | Missing = UNCOLLECTED
    buffers_bytes: int | Missing = UNCOLLECTED
    cached_bytes: int | Missing = UNCOLLECTED
    shared_bytes: int | Missing = UNCOLLECTED
    reclaimable_slab_bytes: int | Missing = UNCOLLECTED
    swap_total_bytes: int | Missing = UNCOLLECTED
    swap_free_bytes: int | Missing = UNCOLLECTED
    huge_pages_total: int | Missing = UNCOLLECTED
    huge_pages_free: int | Missing = UNCOLLECTED
    huge_page_size_bytes: int | Missing = UNCOLLECTED
    cma_total_bytes: int | Missing = UNCOLLECTED
    cma_free_bytes: int | Missing = UNCOLLECTED
    pressure_some_avg10_percent: float | Missing = UNCOLLECTED
    pressure_some_avg60_percent: float | Missing = UNCOLLECTED
    pressure_full_avg10_percent: float | Missing = UNCOLLECTED
    pressure_full_avg60_percent: float | Missing = UNCOLLECTED
    swapped_in_pages: int | Missing = UNCOLLECTED  # since boot
    swapped_out_pages: int | Missing = UNCOLLECTED  # since boot
    oom_kills: int | Missing = UNCOLLECTED  # since boot
