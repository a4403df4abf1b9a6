"""One pool for CPU and GPU: how much of it can be allocated, and how much has to stay free."""

from __future__ import annotations

from gonogo.node.facts.missing import known
from gonogo.node.facts.sections.memory import Memory
from gonogo.platforms.identify import Platform
from gonogo.units import GIB

#: What the machine needs for itself, where its profile says nothing.
RESERVE_GIB = 8.0


def allocatable_bytes(memory: Memory) -> int | None:
    """NVIDIA's formula for unified memory: free huge pages where any are set up, else MemAvailable plus SwapFree."""
    pages, free_pages, page = (
        *(known(memory.huge_pages_total), known(memory.huge_pages_free), known(memory.huge_page_size_bytes)),
    )
    if pages and free_pages is not None and page:
        return free_pages * page
    available = known(memory.available_bytes)
    return None if available is None else available + (known(memory.swap_free_bytes) or 0)


def reserve_bytes(platform: Platform) -> int:
    """What has to stay free for the system."""
    return int((platform.profile.threshold("reserve_gib") or RESERVE_GIB) * GIB)
