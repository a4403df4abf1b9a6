"""Made-up neighbours on a GPU, and what G6 says of them."""

from __future__ import annotations

from typing import Any

from gonogo import catalogue
from gonogo.finding import FAIL, WARN, Finding
from gonogo.gotchas.g06_other_processes.check import check_neighbours
from gonogo.node.facts.missing import NOT_FOUND, PERMISSION_DENIED, Missing
from gonogo.node.facts.sections.container import Container
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice, GpuProcess
from gonogo.node.facts.sections.launch import Launch
from gonogo.node.facts.sections.memory import Memory
from gonogo.node.facts.sections.processes import Process, Processes
from gonogo.plan import Plan
from gonogo.platforms.identify import GENERIC, Platform

GIB = 1 << 30
SPARK = Platform(catalogue.profiles()["gb10"], ("PCI id 10de:2e12",), gpu_expected=True)
CARD = Platform(GENERIC, ("GPU",), gpu_expected=True)
DENIED = Missing(PERMISSION_DENIED)
TITLED = Missing(NOT_FOUND, "a title replaced its command line")


def server(program: str, pid: int = 10, flags: Any = None, environment: Any = None) -> Process:
    return Process(pid, "server", program, 5, "bash", Missing(NOT_FOUND), GIB, flags or {}, environment or {}, True)


def worker(program: str, pid: int = 11, parent: int = 10, under: str = "python", of: Any = None) -> Process:
    return Process(pid, "worker", program, parent, under, of or Missing(NOT_FOUND), GIB, TITLED, {}, True)


def plain(role: str, pid: int = 20, program: str = "python") -> Process:
    return Process(pid, role, program, 5, "bash", Missing(NOT_FOUND), GIB)


def device(
    index: int = 0, total: float = 0, free: float = 0, graphics: tuple[int, ...] = (), **held: float
) -> GpuDevice:
    """``held``: p10=2.5 is pid 10 with 2.5 GiB."""
    listed = [GpuProcess(int(name[1:]), "compute", int(size * GIB)) for name, size in held.items()]
    listed += [GpuProcess(pid, "graphics", GIB) for pid in graphics]
    memory = {"memory_total_bytes": int(total * GIB), "memory_free_bytes": int(free * GIB)} if total else {}
    return GpuDevice(index, name="a card", processes=tuple(listed), **memory)  # type: ignore[arg-type]


def memory(available: float = 40.0, swap: float = 0.0, total: float = 120.0, **more: Any) -> Memory:
    sizes = (int(size * GIB) for size in (total, available, swap))
    return Memory(**dict(zip(("total_bytes", "available_bytes", "swap_free_bytes"), sizes, strict=True)), **more)


def findings(
    *found: Process,
    gpu: Any = None,
    platform: Platform = SPARK,
    need: float = 0,
    host: Any = True,
    pool: Any = None,
    variables: dict[str, str] | None = None,
    **processes: Any,
) -> list[Finding]:
    if not isinstance(gpu, Missing):
        gpu = Gpu(devices=gpu if type(gpu) is tuple else (gpu or device(),))
    facts = Processes(
        **{"hidden_from_us": False, "complete": True, "found": found, "host_namespace": host, **processes}
    )
    plan, launch = Plan(int(need * GIB) or None), Launch(variables or {})
    result = list(check_neighbours(gpu, facts, pool or memory(), Container(), launch, platform, plan))
    for item in result:  # nothing is said that the catalogue does not explain
        name = item.code.partition(".")[2]
        assert name in ("ok", "unknown", "skipped") or name in catalogue.gotchas()["G6"]["code"]
        assert item.evidence or item.status not in (WARN, FAIL)
    return result


def told(*arguments: Any, **changes: Any) -> list[tuple[str, str]]:
    return [(item.code.partition(".")[2], item.status) for item in findings(*arguments, **changes)]


#: Half of the pool or of a card.
HALF = server("vllm", flags={"gpu-memory-utilization": "0.5"})
