"""Processes that hold or will hold the GPU's memory: /proc, read once within a time budget (proc(5)).

Of a command line or an environment nothing leaves this file but what node/parse picks: see there.
"""

from __future__ import annotations

import time
from typing import Any

from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, NOT_SUPPORTED, PERMISSION_DENIED, Missing
from gonogo.node.facts.sections.processes import Process, Processes
from gonogo.node.parse import command_line
from gonogo.node.parse.model_servers import OTHER, OWN, SERVER, TRAINING, WORKER, classify
from gonogo.node.ports.host import Host

BUDGET_SECONDS = 0.5
#: Of programs that are nothing but Python only those are named that are large enough to hold a CUDA context and more.
LARGE_BYTES = 512 << 20
MAXIMUM = 256
MAXIMUM_PIDS = 32768
#: How far up a process's ancestors are followed: a worker of TensorRT-LLM has MPI's daemon between it and its server.
GENERATIONS = 8
_ORDER = (SERVER, WORKER, TRAINING, OTHER, OWN)


def collect(host: Host) -> Processes | Missing:
    """Missing where there is no /proc."""
    names = host.files.names("/proc")
    if isinstance(names, Missing):
        return names
    pids = sorted((int(name) for name in names if len(name) < 11 and name.isascii() and name.isdigit()), reverse=True)
    if not pids:
        return Missing(NOT_FOUND, "no processes in /proc")
    reading = _Reading(host)
    found = reading.found(pids)
    hides = host.files.reduced("/proc/self/mountinfo", command_line.hides_processes)
    kernel = host.files.reduced("/proc/2/comm", lambda comm: comm.strip() == b"kthreadd")
    hidden: bool | Missing = reading.denied or (hides if kernel is not True and host.user != 0 else False)
    if isinstance(kernel, Missing) and kernel.reason == NOT_FOUND:
        kernel = Missing(PERMISSION_DENIED, "/proc hides other users' processes") if hidden is True else False
    return Processes(
        host_namespace=kernel,
        hidden_from_us=hidden,
        complete=reading.complete,
        pids=tuple(sorted(pids)[:MAXIMUM_PIDS]),
        found=tuple(found),
    )


class _Reading:
    """One pass over /proc. ``denied``: some process would not show its command line; ``complete``: time sufficed."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._deadline = time.monotonic() + BUDGET_SECONDS
        self._statuses: dict[int, dict[str, int]] = {}
        self._names: dict[int, str | Missing] = {}
        self.denied, self.complete = False, True

    def found(self, pids: list[int]) -> list[Process]:
        """Newest first, so that what time does not suffice for is the system's own."""
        kinds, own = self._kinds(pids)
        for pid in list(kinds):
            ours = kinds[pid]["role"] != SERVER and not self._late() and self._status(pid).get("parent") in own
            if pid in own or ours:  # a server that we started is a neighbour all the same
                kinds[pid] = {"role": OWN, "program": kinds[pid].get("program")}
            elif kinds[pid].get("maybe") == "comfyui" and not self._late() and self._is_comfyui(pid):
                kinds[pid].update({"role": SERVER, "program": "comfyui"})
        large = {
            pid: kind
            for pid, kind in kinds.items()
            if kind["role"] not in (OTHER, OWN)
            or (not self._late() and self._status(pid).get("resident", 0) >= LARGE_BYTES)
        }
        chosen = sorted(large, key=lambda pid: self._rank(pid, large))[:MAXIMUM]
        self.complete = self.complete and len(chosen) == len(large)
        return [self._process(pid, large) for pid in sorted(chosen)]

    def _late(self) -> bool:
        if time.monotonic() < self._deadline:
            return False
        self.complete = False
        return True

    def _kinds(self, pids: list[int]) -> tuple[dict[int, dict[str, Any]], set[int]]:
        """What each process is, and which of them are gonogo."""
        kinds: dict[int, dict[str, Any]] = {}
        own = self._own()
        read = self._host.files.reduced
        for pid in pids:
            if self._late():
                break
            kind = read(f"/proc/{pid}/cmdline", classify, command_line.LIMIT_BYTES)
            if isinstance(kind, Missing):
                self.denied = self.denied or kind.reason == PERMISSION_DENIED
                self.complete = self.complete and kind.reason != NOT_COLLECTED
            elif isinstance(kind, dict) and kind.get("role") == OWN:
                own.add(pid)
            elif isinstance(kind, dict) and kind.get("role") in _ORDER:
                kinds[pid] = dict(kind)
        return kinds, own

    def _own(self) -> set[int]:
        """This process, and the one that forked it: in a program that uses gonogo as a library both bear its name."""
        facts = self._host.files.reduced("/proc/self/stat", _pid_and_parent)
        if isinstance(facts, Missing) or not facts:
            return set()
        pid, parent = facts
        return {pid} if parent == self._host.parent else {pid, parent}

    def _status(self, pid: int) -> dict[str, int]:
        if pid not in self._statuses:
            answer = self._host.files.reduced(f"/proc/{pid}/status", command_line.status)
            self._statuses[pid] = answer if isinstance(answer, dict) else {}
        return self._statuses[pid]

    def _is_comfyui(self, pid: int) -> bool:
        """main.py is ComfyUI where its working folder has ComfyUI's own module; Docker images start it that way."""
        return self._host.files.kind(f"/proc/{pid}/cwd/comfy/cli_args.py") == "file"

    def _rank(self, pid: int, kinds: dict[int, dict[str, Any]]) -> tuple[bool, int, int]:
        """Copies of their parent (data loaders) last; then by role, the largest first."""
        parent = self._status(pid).get("parent", 0)
        kind, above = kinds[pid], kinds.get(parent, {})
        copy = kind["role"] in (TRAINING, OTHER) and (kind["role"], kind.get("program")) == (
            *(above.get("role"), above.get("program")),
        )
        return copy, _ORDER.index(kind["role"]), -self._status(pid).get("resident", 0)

    def _process(self, pid: int, kinds: dict[int, dict[str, Any]]) -> Process:
        kind, status = kinds[pid], self._status(pid)
        gone = Missing(NOT_FOUND, "it ended while it was read") if not status else Missing(NOT_FOUND)
        parent = status.get("parent")
        flags, user = kind.get("flags"), status.get("user")
        named = kind["role"] not in (OTHER, OWN)
        titled: Any = Missing(NOT_FOUND, "a title replaced its command line")
        unasked: Any = Missing(NOT_COLLECTED)
        environment = unasked
        if named and not self._late():
            environment = self._host.files.reduced(f"/proc/{pid}/environ", command_line.variables)
        return Process(
            pid=pid,
            role=kind["role"],
            program=str(kind.get("program")),
            parent_pid=gone if parent is None else parent,
            parent_name=gone if parent is None else self._name(parent),
            ancestor_pid=self._ancestor(pid, kinds),
            resident_bytes=status.get("resident", gone),
            flags=dict(flags) if named and isinstance(flags, dict) else titled if named else unasked,
            environment=environment,
            same_user=gone if user is None else user == self._host.user if self._host.user >= 0 else _NO_USERS,
        )

    def _name(self, pid: int) -> str | Missing:
        if pid not in self._names:
            self._names[pid] = self._host.files.reduced(f"/proc/{pid}/comm", command_line.process_name)
        return self._names[pid]

    def _ancestor(self, pid: int, kinds: dict[int, dict[str, Any]]) -> int | Missing:
        above = self._status(pid).get("parent", 0)
        for _ in range(GENERATIONS):
            if above in kinds:
                return above
            if above <= 1 or self._late():
                break
            above = self._status(above).get("parent", 0)
        return Missing(NOT_FOUND)


_NO_USERS = Missing(NOT_SUPPORTED, "no user ids on this system")


def _pid_and_parent(stat: bytes) -> list[int]:
    """The first and fourth field of /proc/PID/stat; the second, a name in parentheses, can hold anything."""
    try:
        return [int(stat.partition(b" ")[0]), int(stat.rpartition(b") ")[2].split()[1])]
    except (ValueError, IndexError):
        return []
