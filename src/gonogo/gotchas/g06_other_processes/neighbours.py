"""Who else uses the GPU: processes in groups of a server with its workers, and what NVML says each holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu, devices_of
from gonogo.node.facts.sections.processes import Process, Processes

#: Who adopts the children of the dead. Shells adopt in containers and under WSL (vllm-project/vllm#55510).
_ADOPTERS = (
    *("systemd", "init", "tini", "docker-init", "dumb-init", "catatonit", "s6-svscan", "containerd-shim"),
    *("conmon", "pause", "runit"),
)
_SHELLS = ("bash", "sh", "dash", "zsh", "fish", "sleep", "tail")
#: Programs whose workers are never started by hand, and those that Python always starts.
_NEVER_ALONE, _UNDER_PYTHON = ("vllm", "sglang", "ollama"), ("vllm", "sglang")


class Holdings(NamedTuple):
    """GPU number to bytes for each pid with compute work, by NVML. None: NVML counts the pid and not its bytes."""

    by_pid: Mapping[int, Mapping[int, int | None]]
    complete: bool  # every GPU gave its list


class Neighbour(NamedTuple):
    """A process with those it started: a server and its workers count once. ``on``: bytes by GPU number.

    ``measured``: ``on`` is all that it holds; else NVML does not know it, and what it holds on the GPU is not known.
    """

    root: Process
    members: tuple[Process, ...]
    on: Mapping[int, int]
    measured: bool

    @property
    def program(self) -> str:
        """The server's name, or the worker's where a program of the user's started it."""
        if self.root.role == "other":
            return next((item.program for item in self.members if item.role == "worker"), self.root.program)
        return self.root.program

    @property
    def held_bytes(self) -> int:
        """On all GPUs."""
        return sum(self.on.values())

    @property
    def resident_bytes(self) -> int:
        """In system memory, where a GPU's own memory does not count."""
        return sum(known(item.resident_bytes) or 0 for item in self.members)


def holdings(gpu: Gpu | Missing, found: Iterable[Process]) -> Holdings:
    """Compute work of others. A desktop's processes are nobody's rivals, and a browser may be in both lists."""
    own = {process.pid for process in found if process.role == "own"}
    by_pid: dict[int, dict[int, int | None]] = {}
    devices = devices_of(gpu)
    for device in devices:
        listed = known(device.processes) or ()
        passed_over = own | {process.pid for process in listed if process.kind == "graphics"}
        for process in listed:
            if process.kind == "compute" and process.pid not in passed_over:
                by_pid.setdefault(process.pid, {})[device.device_index] = known(process.memory_bytes)
    return Holdings(by_pid, bool(devices) and not any(isinstance(device.processes, Missing) for device in devices))


def with_plain_programs(found: Sequence[Process], processes: Processes | Missing, gpu: Gpu | Missing) -> list[Process]:
    """``found``, and what NVML lists and /proc shows without its being a known program: its memory counts all the same.

    CUDA memory of unified pools is in no process's resident memory, so size alone does not find it in /proc.
    """
    there = set() if isinstance(processes, Missing) else set(known(processes.pids) or ())
    named = {process.pid for process in found}
    listed = dict.fromkeys(pid for pid in holdings(gpu, found).by_pid if pid in there and pid not in named)
    return [*found, *(Process(pid, "other", "program") for pid in listed)]


def neighbours(found: Iterable[Process], holds: Holdings, whole_machine: bool) -> list[Neighbour]:
    """The processes in groups. ``whole_machine``: pids are the host's own, so what NVML does not list holds nothing."""
    by_pid = {process.pid: process for process in found if process.role != "own"}
    groups: dict[int, list[Process]] = {}
    for process in by_pid.values():
        groups.setdefault(_root(process, by_pid).pid, []).append(process)
    result = []
    for pid, members in sorted(groups.items()):
        on: dict[int, int] = {}
        listed = [holds.by_pid[item.pid] for item in members if item.pid in holds.by_pid]
        for index, size in (pair for cards in listed for pair in cards.items()):
            on[index] = on.get(index, 0) + (size or 0)
        sizes_known = all(size is not None for cards in listed for size in cards.values())
        measured = holds.complete and sizes_known and (bool(listed) or whole_machine)
        if by_pid[pid].role != "other" or listed:
            result.append(Neighbour(by_pid[pid], tuple(members), on, measured))
    return result


def _root(process: Process, by_pid: Mapping[int, Process]) -> Process:
    """The server or launcher that it belongs to, else itself."""
    seen = {process.pid}
    while True:
        above = by_pid.get(known(process.ancestor_pid) or known(process.parent_pid) or 0)
        if above is None or above.pid in seen or not _belongs(process, above):
            return process
        seen.add(above.pid)
        process = above


def _belongs(process: Process, above: Process) -> bool:
    if process.role == "worker":
        return True
    if process.role == "other":
        return above.role in ("server", "training")  # of two plain programs each is judged for itself
    return process.program == above.program or (process.role == above.role == "training")


def orphaned(neighbour: Neighbour) -> bool:
    """A worker that holds memory for a server that is gone: whoever adopts orphans is its parent now."""
    root, parent = neighbour.root, known(neighbour.root.parent_name)
    if root.role != "worker" or root.program not in _NEVER_ALONE or (neighbour.measured and not neighbour.held_bytes):
        return False
    if root.program in _UNDER_PYTHON and (parent in _SHELLS or (parent == "other" and known(root.parent_pid) == 1)):
        return True
    return parent in _ADOPTERS
