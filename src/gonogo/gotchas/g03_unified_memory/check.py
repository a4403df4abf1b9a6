"""G3 from /proc/meminfo and memory pressure; on discrete cards from the card's own memory."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.finding import FAIL, INFO, PASS, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice
from gonogo.node.facts.sections.memory import Memory
from gonogo.plan import Plan
from gonogo.platforms.identify import Platform
from gonogo.units import GIB, gib

#: What the machine needs for itself, where its profile says nothing.
RESERVE_GIB = 8.0
#: Page cache worth a word.
LARGE_CACHE_BYTES = 32 * GIB
#: Swap in use that counts as swapping when the kernel reports no pressure figures at all.
SWAP_IN_USE_BYTES = 1 * GIB
#: PSI "memory full avg10", percent: the two limits of the thrash signal.
PRESSURE_WARN_PERCENT, PRESSURE_FAIL_PERCENT = 0.1, 1.0
BUSY_UTILIZATION_PERCENT = 10


def allocatable_bytes(memory: Memory) -> int | None:
    """NVIDIA's formula for unified memory: free huge pages where any are set up, else MemAvailable plus SwapFree."""
    pages, free_pages, page = (
        known(memory.huge_pages_total),
        known(memory.huge_pages_free),
        known(memory.huge_page_size_bytes),
    )
    if pages and free_pages is not None and page:
        return free_pages * page
    available = known(memory.available_bytes)
    return None if available is None else available + (known(memory.swap_free_bytes) or 0)


def _reading(memory: Memory) -> str:
    """How every message of G3 begins, for the scripts that take the two figures from it."""
    total, available = known(memory.total_bytes), known(memory.available_bytes)
    if total is None or available is None:
        return "free/used (GB): unknown"
    return f"free/used (GB): {gib(available)} {gib(total - available)}"


def check_headroom(memory: Memory, gpu: Gpu | Missing, platform: Platform, plan: Plan) -> Iterator[Finding]:
    """The reading, and the plan against it where there is one."""
    total, available = known(memory.total_bytes), known(memory.available_bytes)
    if total is None or available is None:
        yield Finding("G3.unknown", UNKNOWN, "/proc/meminfo names no MemTotal or MemAvailable")
        return
    reading = _reading(memory)
    evidence = _meminfo_lines(memory)
    devices = [] if platform.unified_memory or platform.assumed else _with_memory(gpu)
    if platform.unified_memory:
        room = allocatable_bytes(memory) or 0
        what = f"{gib(room)} GiB allocatable"
        if known(memory.huge_pages_total):
            what += " (free huge pages alone)"
        elif plan.need_bytes is not None and available < plan.need_bytes <= room:
            what += f" ({gib(room - available)} of it swap, which is slow)"
    elif devices:
        best = max(devices, key=lambda device: known(device.memory_free_bytes) or 0)
        room = known(best.memory_free_bytes) or 0
        what = f"GPU {best.device_index} {gib(room)} of {gib(known(best.memory_total_bytes) or 0)} GiB free"
        evidence += tuple(
            f"GPU {device.device_index}: {known(device.memory_free_bytes)} bytes free" for device in devices
        )
    else:
        room, what = None, "system memory"
    if plan.need_bytes is None or room is None:
        yield from _without_plan(reading, what, evidence, memory, gpu, platform)
        return
    need, reserve = plan.need_bytes, int((platform.profile.threshold("reserve_gib") or RESERVE_GIB) * GIB)
    if not platform.unified_memory:
        reserve = 0  # the card's memory is not the system's
    if need > room:
        code, status, says = "G3.plan-does-not-fit", FAIL, f"the plan needs {gib(need)} GiB"
    elif need > room - reserve:
        left = f"the plan of {gib(need)} GiB leaves {gib(room - need)} GiB, keep {gib(reserve)}"
        code, status, says = "G3.plan-leaves-too-little", WARN, left
    else:
        code, status, says = "G3.ok", PASS, f"the plan of {gib(need)} GiB fits"
    yield Finding(code, status, f"{reading}; {what}, {says}", evidence)


def _without_plan(
    reading: str, what: str, evidence: tuple[str, ...], memory: Memory, gpu: Gpu | Missing, platform: Platform
) -> Iterator[Finding]:
    available = known(memory.available_bytes) or 0
    reserve = int((platform.profile.threshold("reserve_gib") or RESERVE_GIB) * GIB)
    if platform.unified_memory and available < reserve and not _pressure(memory) and not _swapping(memory):
        text = (
            f"{reading}; under {gib(reserve)} GiB available and nothing stalls: normal for a server that pre-allocates"
        )
        yield Finding("G3.little-available", INFO, text, evidence)
    else:
        yield Finding("G3.headroom", INFO, f"{reading}; {what}", evidence)


def check_page_cache(memory: Memory, platform: Platform) -> Iterator[Finding]:
    """A large cache is worth knowing about and nothing to act on by itself."""
    cached, shared = known(memory.cached_bytes), known(memory.shared_bytes) or 0
    if platform.unified_memory and cached is not None and cached - shared >= LARGE_CACHE_BYTES:
        cache = f"{gib(cached - shared)} GiB of page cache: given back on demand, no fault by itself"
        text = f"{_reading(memory)}; {cache}"
        yield Finding("G3.page-cache", INFO, text, _meminfo_lines(memory))


def check_pressure(memory: Memory, gpu: Gpu | Missing, platform: Platform) -> Iterator[Finding]:
    """Stalls and swap beside GPU work; without GPU work they are the desktop's own affair."""
    if not platform.unified_memory or not has_gpu_work(gpu):
        return
    full = known(memory.pressure_full_avg10_percent)
    if full is not None and full > PRESSURE_WARN_PERCENT:
        yield Finding(
            "G3.memory-pressure",
            FAIL if full > PRESSURE_FAIL_PERCENT else WARN,
            f"{_reading(memory)}; all tasks stalled on memory {full:g} % of the last 10 s beside GPU work",
            evidence=(f"/proc/pressure/memory: full avg10={full:.2f}",),
        )
    if _swapping(memory):
        used = (known(memory.swap_total_bytes) or 0) - (known(memory.swap_free_bytes) or 0)
        yield Finding(
            "G3.swapping",
            WARN,
            f"{_reading(memory)}; {gib(used)} GiB swapped out beside GPU work: decode slows several times over",
            evidence=(f"SwapTotal less SwapFree: {used} bytes", *_pressure_line(memory)),
        )


def has_gpu_work(gpu: Gpu | Missing) -> bool:
    """A compute process on any GPU, or a GPU that is busy."""
    devices = () if isinstance(gpu, Missing) else known(gpu.devices) or ()
    return any(
        any(process.kind == "compute" for process in known(device.processes) or ())
        or (known(device.utilization_gpu_percent) or 0) >= BUSY_UTILIZATION_PERCENT
        for device in devices
    )


def _pressure(memory: Memory) -> bool:
    return (known(memory.pressure_full_avg10_percent) or 0.0) > PRESSURE_WARN_PERCENT


def _swapping(memory: Memory) -> bool:
    # Pages that were swapped out long ago and are not missed cost nothing: some task must be waiting for memory.
    used = (known(memory.swap_total_bytes) or 0) - (known(memory.swap_free_bytes) or 0)
    # Or so little must be left that it was this work which drove them out.
    waiting, available = known(memory.pressure_some_avg10_percent), known(memory.available_bytes)
    tight = available is not None and available < RESERVE_GIB * GIB
    return used >= SWAP_IN_USE_BYTES and (waiting is None or waiting > 0.0 or tight)


def _pressure_line(memory: Memory) -> tuple[str, ...]:
    some = known(memory.pressure_some_avg10_percent)
    return () if some is None else (f"/proc/pressure/memory: some avg10={some:.2f}",)


def _with_memory(gpu: Gpu | Missing) -> list[GpuDevice]:
    devices = () if isinstance(gpu, Missing) else known(gpu.devices) or ()
    return [device for device in devices if known(device.memory_free_bytes) is not None]


def _meminfo_lines(memory: Memory) -> tuple[str, ...]:
    rows = (
        ("MemTotal", memory.total_bytes),
        ("MemAvailable", memory.available_bytes),
        ("SwapFree", memory.swap_free_bytes),
        ("Cached", memory.cached_bytes),
    )
    lines = [f"{name}: {value // 1024} kB" for name, fact in rows for value in [known(fact)] if value is not None]
    if known(memory.huge_pages_total):
        pages, size = known(memory.huge_pages_total), known(memory.huge_page_size_bytes) or 0
        lines += [
            f"HugePages_Total: {pages}",
            f"HugePages_Free: {known(memory.huge_pages_free)}",
            f"Hugepagesize: {size // 1024} kB",
        ]
    return tuple(lines)
