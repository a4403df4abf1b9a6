"""Neighbours in words, for messages and evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gonogo.gotchas.g06_other_processes.neighbours import Neighbour
from gonogo.gotchas.g06_other_processes.promises import UNCAPPED, Judged
from gonogo.units import gib

#: Neighbours that a line names before it only counts them, and those that are shown as evidence.
NAMED, SHOWN = 3, 8


def name_of(neighbour: Neighbour) -> str:
    """ "vllm pid 4242"."""
    return f"{neighbour.program} pid {neighbour.root.pid}"


def held_by(neighbour: Neighbour, held_bytes: int) -> str:
    """ "holds 58.9 GiB"; where NVML does not tell, what it has of system memory."""
    if neighbour.measured or held_bytes:
        return f"holds {gib(held_bytes)} GiB"
    return f"has {gib(neighbour.resident_bytes)} GiB of system memory"


def line_of(item: Judged) -> str:
    """ "vllm pid 4242 holds 58.9 of 60.8 GiB (--gpu-memory-utilization 0.5)"."""
    final, held = item.promise.final_bytes, item.held_bytes
    amount = held_by(item.neighbour, held)
    if item.neighbour.measured and final is not None and final > held and item.promise.kind != UNCAPPED:
        amount = f"holds {gib(held)} of {gib(final)} GiB"
    return f"{name_of(item.neighbour)} {amount}" + (f" ({item.promise.words})" if item.promise.words else "")


def strangers_in_words(strangers: Mapping[int, int]) -> list[str]:
    """Processes that only NVML knows, the largest first: "pid 5337 holds 104.0 GiB"."""
    return [f"pid {pid} holds {gib(size)} GiB" for pid, size in sorted(strangers.items(), key=lambda pair: -pair[1])]


def listed(lines: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = len(lines) - NAMED
    return "; ".join((*lines[:NAMED], *((f"{more} more",) if more > 0 else ())))


def pids_of(judged: Sequence[Judged]) -> str:
    """As ps -p takes them."""
    return ",".join(str(item.neighbour.root.pid) for item in judged)


def evidence_of(judged: Sequence[Judged]) -> tuple[str, ...]:
    """One line each."""
    return tuple(
        f"{name_of(item.neighbour)}, {_processes(item.neighbour)}: "
        + (f"{item.held_bytes} bytes by NVML" if item.neighbour.measured else "not counted by NVML")
        + ("" if item.promise.final_bytes is None else f", {item.promise.final_bytes} bytes in the end")
        for item in judged[:SHOWN]
    )


def _processes(neighbour: Neighbour) -> str:
    number = len(neighbour.members)
    return "1 process" if number == 1 else f"{number} processes"
