"""G6: who else holds or will take the GPU's memory, against what can be allocated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gonogo.finding import FAIL, HIGH, INFO, MEDIUM, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.gotchas.g06_other_processes import words
from gonogo.gotchas.g06_other_processes.cards import on_cards, shared_card, without_cap
from gonogo.gotchas.g06_other_processes.neighbours import Neighbour, holdings, neighbours, orphaned, with_plain_programs
from gonogo.gotchas.g06_other_processes.promises import IDLE, SMALL_BYTES, UNCAPPED, Judged, judge
from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, Missing, known
from gonogo.node.facts.sections.container import Container
from gonogo.node.facts.sections.gpu import Gpu
from gonogo.node.facts.sections.launch import Launch
from gonogo.node.facts.sections.memory import Memory
from gonogo.node.facts.sections.processes import Processes
from gonogo.plan import Plan
from gonogo.platforms.containment import weigh
from gonogo.platforms.identify import Platform
from gonogo.platforms.unified import allocatable_bytes, reserve_bytes
from gonogo.units import gib


def check_neighbours(
    gpu: Gpu | Missing,
    processes: Processes | Missing,
    memory: Memory | Missing,
    container: Container | Missing,
    launch: Launch | Missing,
    platform: Platform,
    plan: Plan,
) -> Iterator[Finding]:
    """All about the neighbours in one go: each line depends on what the others leave."""
    found = with_plain_programs([] if isinstance(processes, Missing) else known(processes.found) or (), processes, gpu)
    skipped = _not_judged(gpu, platform, bool(found))
    if skipped:
        yield Finding("G6.skipped", SKIP, skipped)
        return
    whole_machine = not isinstance(processes, Missing) and known(processes.host_namespace) is True
    holds = holdings(gpu, found)
    groups = neighbours(found, holds, whole_machine)
    seen = {process.pid for group in groups for process in group.members}
    strangers = {pid: sum(size or 0 for size in on.values()) for pid, on in holds.by_pid.items() if pid not in seen}
    said = list(_orphans([group for group in groups if orphaned(group)]))
    if platform.unified_memory:
        said += _in_one_pool(groups, strangers, memory, platform, plan)
    else:
        said += on_cards(groups, holds, gpu, launch, plan)
    said += _idle(groups)
    yield from said
    unseen = _unseen(gpu, processes, container, platform)
    card = None if platform.unified_memory else shared_card(holds, gpu, launch)
    in_the_way = platform.unified_memory or card is not None
    large = {
        pid: size
        for pid, size in strangers.items()
        if in_the_way and size >= SMALL_BYTES and (card is None or card.device_index in holds.by_pid[pid])
    }
    if large:
        named = words.listed(words.strangers_in_words(large))
        unseen.append(f"on the GPU, but none of the programs that were found in /proc: {named}")
    if unseen:
        values = {"unseen": ",".join(map(str, large))} if large else {}
        yield Finding("G6.not-seen", UNKNOWN, f"not all can be seen: {'; '.join(unseen)}", values=values)
    elif not said and isinstance(processes, Missing):
        yield Finding("G6.skipped", SKIP, f"processes: {processes}")
    elif not said:
        yield Finding("G6.ok", PASS, "no other process computes on the GPU and no model server runs")


def _not_judged(gpu: Gpu | Missing, platform: Platform, any_found: bool) -> str | None:
    """Why there is nothing to judge, or None. A Spark whose driver is dead is judged by /proc."""
    if not isinstance(gpu, Missing):
        return None
    if platform.assumed:
        return None if any_found and platform.unified_memory else gpu.detail or str(gpu)
    if gpu.reason == NOT_COLLECTED:
        return f"gpu: {gpu}"
    if gpu.reason == NOT_FOUND and not platform.is_spark:
        return "no NVIDIA driver" if platform.gpu_expected else "no NVIDIA GPU"
    return None


def _unseen(
    gpu: Gpu | Missing, processes: Processes | Missing, container: Container | Missing, platform: Platform
) -> list[str]:
    """What stands between us and the neighbours."""
    unseen = [] if platform.assumed else _unlisted(gpu)
    if isinstance(processes, Missing):
        return unseen if processes.reason == NOT_COLLECTED else [*unseen, f"processes: {processes}"]
    hidden, whole_machine = processes.hidden_from_us, processes.host_namespace
    if isinstance(processes.found, Missing):
        unseen.append(f"processes: {processes.found}")
    if hidden is True:
        unseen.append("/proc hides other users' processes (hidepid)")
    elif whole_machine is False:
        inside = weigh(container).inside
        unseen.append(f"the host's processes are outside this {'container' if inside else 'PID namespace'}")
    elif isinstance(hidden, Missing) or isinstance(whole_machine, Missing):
        unseen.append("whether /proc shows all processes could not be told")
    if known(processes.complete) is not True:
        unseen.append("there was no time to read all of /proc")
    return unseen


def _unlisted(gpu: Gpu | Missing) -> list[str]:
    """GPUs that do not say who computes on them."""
    if isinstance(gpu, Missing):
        return [f"the GPU does not answer ({gpu})"]
    if isinstance(gpu.devices, Missing):
        return [f"the GPU does not answer ({gpu.devices})"]
    if not gpu.devices:
        return ["the driver shows no GPU"]
    silent = [(device.device_index, device.processes) for device in gpu.devices]
    lines = [f"GPU {index} does not list its processes ({why})" for index, why in silent if isinstance(why, Missing)]
    return [words.listed(lines)] if lines else []


def _orphans(holding: Sequence[Neighbour]) -> Iterator[Finding]:
    """Workers whose server is gone."""
    if not holding:
        return
    pids = [process.pid for group in holding for process in group.members]
    others = any(known(process.same_user) is False for group in holding for process in group.members)
    lines = [f"{words.name_of(group)} {words.held_by(group, group.held_bytes)}" for group in holding]
    under_init = all(known(group.root.parent_name) in ("systemd", "init") for group in holding)
    yield Finding(
        "G6.orphan",
        WARN,
        f"{words.listed(lines)}: its server is gone, and it keeps the memory until it is ended",
        evidence=tuple(
            f"pid {group.root.pid}, a worker of {group.program}, is a child of pid {known(group.root.parent_pid)}"
            f" ({known(group.root.parent_name)})"
            for group in holding[: words.SHOWN]
        ),
        confidence=HIGH if under_init else MEDIUM,
        values={
            "pids": ",".join(map(str, pids)),
            "kill": f"{'sudo ' if others else ''}kill {' '.join(map(str, pids))}",
        },
    )


def _idle(groups: Sequence[Neighbour]) -> Iterator[Finding]:
    """Servers that will take memory when somebody asks them for something."""
    idle = [item for item in (judge(group, None, None) for group in groups) if item.promise.kind == IDLE]
    if idle:
        lines = [f"{words.name_of(item.neighbour)} holds nothing now, {item.promise.words}" for item in idle]
        yield Finding("G6.on-demand", INFO, words.listed(lines), words.evidence_of(idle))


def _in_one_pool(
    groups: Sequence[Neighbour],
    strangers: Mapping[int, int],
    memory: Memory | Missing,
    platform: Platform,
    plan: Plan,
) -> Iterator[Finding]:
    """``strangers`` are pids with their bytes that only NVML knows. Another device's figures are not added up."""
    foreign = platform.assumed or isinstance(memory, Missing)
    room = None if foreign or isinstance(memory, Missing) else allocatable_bytes(memory)
    total = None if foreign or isinstance(memory, Missing) else known(memory.total_bytes)
    judged = [judge(group, total, room) for group in groups]
    alive = [item for item in judged if not orphaned(item.neighbour)]
    uncapped = [item for item in alive if item.promise.kind == UNCAPPED]
    if uncapped:
        yield without_cap(uncapped, "the pool")
    too_much = None if room is None else _sums(judged, room, reserve_bytes(platform), plan)
    if too_much:
        yield too_much
        return
    rest = [item for item in alive if item.promise.kind not in (UNCAPPED, IDLE)]
    small = {pid: size for pid, size in strangers.items() if size < SMALL_BYTES}
    lines = [*map(words.line_of, rest), *words.strangers_in_words(small)]
    if lines:
        left = "" if room is None else f"; {gib(room)} GiB can be allocated"
        yield Finding("G6.neighbours", INFO, f"{words.listed(lines)}{left}", words.evidence_of(rest))


def _sums(judged: Sequence[Judged], room: int, reserve: int, plan: Plan) -> Finding | None:
    """Promises and plan against what can be allocated."""
    growth, held = sum(item.growth_bytes for item in judged), sum(item.held_bytes for item in judged)
    need, hungry = plan.need_bytes or 0, sorted(judged, key=lambda item: (-item.growth_bytes, -item.held_bytes))
    named = words.listed([words.line_of(item) for item in hungry if item.held_bytes or item.growth_bytes])
    evidence = (*words.evidence_of(judged), f"allocatable: {room} bytes; promised on top: {growth} bytes")
    values = {"pids": words.pids_of(judged)}
    if growth > room:
        text = f"neighbours may take {gib(growth)} GiB more and {gib(room)} GiB can be allocated: {named}"
        return Finding("G6.promises-exceed", FAIL, text, evidence, values=values)
    # A plan that would not fit on an empty machine either is not the neighbours' fault; G3 says so.
    if growth + need > room and need <= room + held:
        text = f"the plan of {gib(need)} GiB does not fit beside the neighbours, who hold {gib(held)} GiB and may"
        text = f"{text} take {gib(growth)} GiB more of the {gib(room)} GiB that can be allocated: {named}"
        return Finding("G6.plan-beside-neighbours", FAIL, text, evidence, values=values)
    left = room - growth - need
    if growth and 0 <= left < reserve:
        text = f"the neighbours' promises fit and leave {gib(left)} GiB, keep {gib(reserve)}: {named}"
        return Finding("G6.leaves-too-little", WARN, text, evidence, values=values)
    return None
