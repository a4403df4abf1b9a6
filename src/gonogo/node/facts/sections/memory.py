"""System memory: /proc/meminfo, /proc/pressure/memory and /proc/vmstat. On GB10 this is the GPU's memory too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from gonogo.node.facts.missing import UNCOLLECTED, Missing


@dataclass(frozen=True)
class Memory:
    """Bytes unless the name says otherwise; pressure is the share of time stalled, in percent (PSI)."""

    total_bytes: Union[int, Missing] = UNCOLLECTED
    free_bytes: Union[int, Missing] = UNCOLLECTED
    available_bytes: Union[int, Missing] = UNCOLLECTED
    buffers_bytes: Union[int, Missing] = UNCOLLECTED
    cached_bytes: Union[int, Missing] = UNCOLLECTED
    shared_bytes: Union[int, Missing] = UNCOLLECTED
    reclaimable_slab_bytes: Union[int, Missing] = UNCOLLECTED
    swap_total_bytes: Union[int, Missing] = UNCOLLECTED
    swap_free_bytes: Union[int, Missing] = UNCOLLECTED
    huge_pages_total: Union[int, Missing] = UNCOLLECTED
    huge_pages_free: Union[int, Missing] = UNCOLLECTED
    huge_page_size_bytes: Union[int, Missing] = UNCOLLECTED
    cma_total_bytes: Union[int, Missing] = UNCOLLECTED
    cma_free_bytes: Union[int, Missing] = UNCOLLECTED
    pressure_some_avg10_percent: Union[float, Missing] = UNCOLLECTED
    pressure_some_avg60_percent: Union[float, Missing] = UNCOLLECTED
    pressure_full_avg10_percent: Union[float, Missing] = UNCOLLECTED
    pressure_full_avg60_percent: Union[float, Missing] = UNCOLLECTED
    swapped_in_pages: Union[int, Missing] = UNCOLLECTED  # since boot
    swapped_out_pages: Union[int, Missing] = UNCOLLECTED  # since boot
    oom_kills: Union[int, Missing] = UNCOLLECTED  # since boot
