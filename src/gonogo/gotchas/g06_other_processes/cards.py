"""Cards with memory of their own: a run takes the one with the most free memory, and who else is there counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gonogo.finding import FAIL, INFO, WARN, Finding
from gonogo.gotchas.g06_other_processes.neighbours import Holdings, Neighbour, orphaned
from gonogo.gotchas.g06_other_processes.promises import IDLE, UNCAPPED, Judged, judge
from gonogo.gotchas.g06_other_processes.words import evidence_of, line_of, listed, pids_of, strangers_in_words
from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice, devices_of
from gonogo.node.facts.sections.launch import Launch
from gonogo.plan import Plan
from gonogo.platforms.visible import visible_devices
from gonogo.units import gib


def on_cards(
    groups: Sequence[Neighbour], holds: Holdings, gpu: Gpu | Missing, launch: Launch | Missing, plan: Plan
) -> Iterator[Finding]:
    """Of the cards that the run would see."""
    cards, busy = _cards(gpu, launch), _busy(holds)
    unused = [card for card in cards if card.device_index not in busy]
    best = shared_card(holds, gpu, launch)
    if unused and busy:
        where = [f"GPU {index}: {listed(_lines(index, groups, holds))}" for index in busy]
        text = f"GPU {unused[0].device_index} computes for nobody ({len(unused)} of {len(cards)} so); {listed(where)}"
        yield Finding("G6.other-cards", INFO, text)
    elif best is not None:
        yield from _best(best, groups, holds, plan)
    nowhere = (judge(group, None, None) for group in groups if not group.on)
    waiting = [item for item in nowhere if item.promise.kind != IDLE]
    if waiting:
        text = listed([line_of(item) for item in waiting])
        yield Finding("G6.neighbours", INFO, f"on no card that can be told: {text}", evidence_of(waiting))


def shared_card(holds: Holdings, gpu: Gpu | Missing, launch: Launch | Missing) -> GpuDevice | None:
    """Where somebody computes on each card: the one with the most free memory."""
    cards, busy = _cards(gpu, launch), _busy(holds)
    if not cards or any(card.device_index not in busy for card in cards):
        return None
    return max(cards, key=lambda card: known(card.memory_free_bytes) or 0)


def _cards(gpu: Gpu | Missing, launch: Launch | Missing) -> list[GpuDevice]:
    """What the run would see, of those that list their processes."""
    visible = visible_devices(gpu, launch).devices or devices_of(gpu)
    return [card for card in visible if not isinstance(card.processes, Missing)]


def _busy(holds: Holdings) -> list[int]:
    return sorted({index for on in holds.by_pid.values() for index in on})


def _best(card: GpuDevice, groups: Sequence[Neighbour], holds: Holdings, plan: Plan) -> Iterator[Finding]:
    index, free, total = card.device_index, known(card.memory_free_bytes), known(card.memory_total_bytes)
    here = [judge(group, total, free, index) for group in groups if index in group.on and not orphaned(group)]
    named = f"GPU {index}: {listed(_lines(index, groups, holds, here))}"
    evidence = (*evidence_of(here), f"GPU {index}: {free} bytes free")
    if known(card.mig_enabled) is True:  # each instance has memory of its own
        yield Finding("G6.neighbours", INFO, f"{named}; MIG keeps instances apart", evidence)
        return
    growth, need = sum(item.growth_bytes for item in here), plan.need_bytes or 0
    held = sum(on.get(index) or 0 for on in holds.by_pid.values())
    values = {"pids": pids_of(here) or ",".join(str(pid) for pid, on in holds.by_pid.items() if index in on)}
    if free is not None and growth + need > free and need <= free + held:
        text = f"{named}; {gib(free)} GiB are free and {gib(growth)} GiB more promised"
        if need:
            text = f"the plan of {gib(need)} GiB does not fit on the card with the most free memory; {text}"
            yield Finding("G6.plan-beside-neighbours", FAIL, text, evidence, values=values)
        else:
            yield Finding("G6.promises-exceed", FAIL, text, evidence, values=values)
        return
    uncapped = [item for item in here if item.promise.kind == UNCAPPED]
    orphans = {process.pid for group in groups if orphaned(group) for process in group.members}
    if uncapped:
        yield without_cap(uncapped, f"GPU {index}, the card with the most free memory")
    elif here or any(index in on and pid not in orphans for pid, on in holds.by_pid.items()):
        yield Finding("G6.neighbours", INFO, named + ("" if free is None else f"; {gib(free)} GiB free"), evidence)


#: The names that the remedies' placeholders have for programs.
_KEYS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "tensorrt_llm",
    "tgi": "tgi",
    "ollama": "ollama",
    "comfyui": "comfyui",
}


def without_cap(judged: Sequence[Judged], where: str) -> Finding:
    """Neighbours that nothing limits."""
    values = {"pids": pids_of(judged)}
    for item in judged:
        key = _KEYS.get(item.neighbour.program, "others")
        values[key] = ",".join(filter(None, (values.get(key), str(item.neighbour.root.pid))))
    text = f"no cap on what it takes of {where}: {listed([line_of(item) for item in judged])}"
    return Finding("G6.uncapped", WARN, text, evidence_of(judged), values=values)


def _lines(index: int, groups: Sequence[Neighbour], holds: Holdings, judged: Sequence[Judged] = ()) -> list[str]:
    """The neighbours on one card, those too that only NVML knows."""
    shown = {item.neighbour.root.pid for item in judged}
    more = (group for group in groups if index in group.on and group.root.pid not in shown)
    here = [*judged, *(judge(group, None, None, index) for group in more)]
    known_pids = {process.pid for group in groups for process in group.members}
    strangers = {pid: on[index] or 0 for pid, on in holds.by_pid.items() if index in on and pid not in known_pids}
    return [*(line_of(item) for item in here), *strangers_in_words(strangers)]
