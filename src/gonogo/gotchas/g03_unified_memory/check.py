"""G3 from /proc/meminfo and memory pressure; on discrete cards from the card's own memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gonogo.finding import FAIL, INFO, PASS, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice, devices_of
from gonogo.node.facts.sections.launch import Launch
from gonogo.node.facts.sections.memory import Memory
from gonogo.plan import Plan
from gonogo.platforms.identify import Platform
from gonogo.platforms.unified import RESERVE_GIB, allocatable_bytes, reserve_bytes
from gonogo.platforms.visible import visible_devices
from gonogo.units import GIB, gib

#: Page cache worth a word.
LARGE_CACHE_BYTES = 32 * GIB
#: Swap in use that counts as swapping when the kernel reports no pressure figures at all.
SWAP_IN_USE_BYTES = 1 * GIB
#: PSI "memory full avg10", percent: the two limits of the thrash signal.
PRESSURE_WARN_PERCENT, PRESSURE_FAIL_PERCENT = 0.1, 1.0
BUSY_UTILIZATION_PERCENT = 10


def _reading(memory: Memory) -> str:
    """How every message of G3 begins, for the scripts that take the two figures from it."""
    total, available = known(memory.total_bytes), known(memory.available_bytes)
    if total is None or available is None:
        return "free/used (GB): unknown"
    return f"free/used (GB): {gib(available)} {gib(total - available)}"


def check_headroom(
    memory: Memory, gpu: Gpu | Missing, launch: Launch | Missing, platform: Platform, plan: Plan
) -> Iterator[Finding]:
    """The reading, and the plan against it where there is one. Cards that CUDA_VISIBLE_DEVICES hides do not count."""
    total, available = known(memory.total_bytes), known(memory.available_bytes)
    if available is None or not _believable(memory):
        text = f"{_reading(memory)}; /proc/meminfo is not to be believed: MemTotal {total}, MemAvailable {available}"
        yield Finding("G3.unknown", UNKNOWN, text)
    elif platform.unified_memory:
        yield _unified(memory, available, gpu, platform, plan)
    else:
        cards = [] if platform.assumed else _with_memory(visible_devices(gpu, launch).devices)
        yield (
            _discrete(memory, cards, plan)
            if cards
            else Finding("G3.headroom", INFO, f"{_reading(memory)}; system memory", _meminfo_lines(memory))
        )


def _believable(memory: Memory) -> bool:
    total, available = known(memory.total_bytes), known(memory.available_bytes)
    return total is not None and available is not None and 0 <= available <= total


def check_plan(
    memory: Memory | Missing, gpu: Gpu | Missing, launch: Launch | Missing, platform: Platform, plan: Plan
) -> Iterator[Finding]:
    """A plan that nothing could be held against: said aloud, since the user asked."""
    if plan.need_bytes is None:
        return
    if platform.unified_memory:
        judged = not isinstance(memory, Missing) and _believable(memory)
    else:
        judged = not platform.assumed and bool(_with_memory(visible_devices(gpu, launch).devices))
    if not judged:
        reading = "free/used (GB): unknown" if isinstance(memory, Missing) else _reading(memory)
        text = f"{reading}; the plan of {gib(plan.need_bytes)} GiB could not be judged: no memory of the GPU was read"
        yield Finding("G3.plan-not-judged", WARN, text)


def _unified(memory: Memory, available: int, gpu: Gpu | Missing, platform: Platform, plan: Plan) -> Finding:
    room = allocatable_bytes(memory) or 0
    reserve = reserve_bytes(platform)
    evidence, values = _meminfo_lines(memory), {}
    what = f"{_reading(memory)}; {gib(room)} GiB allocatable"
    if known(memory.huge_pages_total):
        what += ", free huge pages alone"
        values = {"huge_pages": str(known(memory.huge_pages_total))}
    elif room > available:
        what += f", {gib(room - available)} of it swap"
    need = plan.need_bytes
    if need is None:
        return _unified_without_plan(what, memory, available < reserve, gpu, evidence)
    if need > room:
        text = f"{what}; the plan needs {gib(need)} GiB"
        return Finding("G3.plan-does-not-fit", FAIL, text, evidence, values=values)
    if need > available and not values:
        text = (
            f"{what}; the plan of {gib(need)} GiB needs {gib(need - available)} GiB of swap, which is many times slower"
        )
        return Finding("G3.plan-needs-swap", WARN, text, evidence)
    if need > room - reserve:
        text = f"{what}; the plan of {gib(need)} GiB leaves {gib(room - need)} GiB, keep {gib(reserve)}"
        return Finding("G3.plan-leaves-too-little", WARN, text, evidence)
    return Finding("G3.ok", PASS, f"{what}; the plan of {gib(need)} GiB fits", evidence)


def _unified_without_plan(
    what: str, memory: Memory, little: bool, gpu: Gpu | Missing, evidence: tuple[str, ...]
) -> Finding:
    if not little or _pressure(memory) or _swapping(memory):
        return Finding("G3.headroom", INFO, what, evidence)
    if _no_gpu_process(gpu):
        return Finding("G3.nearly-full", INFO, f"{what}, and no GPU process is seen to hold the rest", evidence)
    return Finding(
        "G3.little-available", INFO, f"{what}; nothing stalls: normal beside a server that pre-allocates", evidence
    )


def _discrete(memory: Memory, cards: list[GpuDevice], plan: Plan) -> Finding:
    """The card with the most free memory; its memory is not the system's, so nothing is kept back."""
    best = max(cards, key=lambda device: known(device.memory_free_bytes) or 0)
    free, total = known(best.memory_free_bytes) or 0, known(best.memory_total_bytes) or 0
    what = f"{_reading(memory)}; GPU {best.device_index} {gib(free)} of {gib(total)} GiB free"
    evidence = tuple(f"GPU {card.device_index}: {known(card.memory_free_bytes)} bytes free" for card in cards)
    need = plan.need_bytes
    if need is None:
        return Finding("G3.headroom", INFO, what, evidence)
    if total and need > total:
        return Finding(
            "G3.card-too-small", FAIL, f"{what}; the plan of {gib(need)} GiB fits no single card here", evidence
        )
    if need > free:
        return Finding("G3.card-full", FAIL, f"{what}; the plan needs {gib(need)} GiB", evidence)
    return Finding("G3.ok", PASS, f"{what}; the plan of {gib(need)} GiB fits", evidence)


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
        used = _swapped_bytes(memory)
        yield Finding(
            "G3.swapping",
            WARN,
            f"{_reading(memory)}; {gib(used)} GiB swapped out beside GPU work: decode slows several times over",
            evidence=(f"SwapTotal less SwapFree: {used} bytes", *_pressure_line(memory)),
        )


def has_gpu_work(gpu: Gpu | Missing) -> bool:
    """A compute process on any GPU, or a GPU that is busy."""
    return any(
        any(process.kind == "compute" for process in known(device.processes) or ())
        or (known(device.utilization_gpu_percent) or 0) >= BUSY_UTILIZATION_PERCENT
        for device in devices_of(gpu)
    )


def _no_gpu_process(gpu: Gpu | Missing) -> bool:
    """NVML answered, and lists none: an empty list that was read, not a list that was not."""
    lists = [known(device.processes) for device in devices_of(gpu)]
    return bool(lists) and all(processes is not None and not processes for processes in lists) and not has_gpu_work(gpu)


def _pressure(memory: Memory) -> bool:
    return (known(memory.pressure_full_avg10_percent) or 0.0) > PRESSURE_WARN_PERCENT


def _swapped_bytes(memory: Memory) -> int:
    return (known(memory.swap_total_bytes) or 0) - (known(memory.swap_free_bytes) or 0)


def _swapping(memory: Memory) -> bool:
    # Pages that were swapped out long ago and are not missed cost nothing: some task must be waiting for memory.
    # Or so little must be left that it was this work which drove them out.
    waiting, available = known(memory.pressure_some_avg10_percent), known(memory.available_bytes)
    tight = available is not None and available < RESERVE_GIB * GIB
    return _swapped_bytes(memory) >= SWAP_IN_USE_BYTES and (waiting is None or waiting > 0.0 or tight)


def _pressure_line(memory: Memory) -> tuple[str, ...]:
    some = known(memory.pressure_some_avg10_percent)
    return () if some is None else (f"/proc/pressure/memory: some avg10={some:.2f}",)


def _with_memory(devices: Iterable[GpuDevice]) -> list[GpuDevice]:
    return [device for device in devices if (known(device.memory_free_bytes) or -1) >= 0]


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
