"""``env-report``: the report that earlier tools wrote to env-report.json, checks G1 to G10 and a headroom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gonogo import catalogue
from gonogo.finding import PASS, number
from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu
from gonogo.node.facts.sections.memory import Memory
from gonogo.platforms.unified import allocatable_bytes
from gonogo.preflight import Preflight
from gonogo.report import Style
from gonogo.units import GIB

VERDICTS = {"go": "ready", "go-with-warnings": "ready-with-warnings", "no-go": "blocked"}
RESERVE_BYTES = 8 * GIB


def render(preflight: Preflight, style: Style) -> str:
    """One object; ``verbose`` changes nothing, the members are fixed."""
    body = {
        "platform": "dgx-spark" if preflight.platform.is_spark else "generic-nvidia",
        "checks": {gotcha: _check(preflight, gotcha) for gotcha in catalogue.gotchas() if number(gotcha) <= 10},
        "headroom_gb": _headroom(preflight),
        "verdict": VERDICTS[preflight.verdict],
        "reasons": list(preflight.reasons),
    }
    return json.dumps(body, indent=2) + "\n"


def _check(preflight: Preflight, gotcha: str) -> str:
    found = preflight.of(gotcha)
    if not found:
        return "skip: not selected"
    return found[0].status.lower() if found[0].status == PASS else f"{found[0].status.lower()}: {found[0].message}"


def _headroom(preflight: Preflight) -> float | None:
    platform, sections = preflight.platform, preflight.facts.sections
    if platform.assumed and not platform.unified_memory and platform.id != "none":
        return None  # the memory of a card that is not here
    return headroom_gb(sections, platform.unified_memory)


def headroom_gb(sections: Mapping[str, Any], unified: bool) -> float | None:
    """10^9 bytes that can be allocated while 8 GiB stay free, not below 0; on discrete GPUs the free device memory."""
    gpu: Gpu | Missing | None = sections.get("gpu")
    memory: Memory | Missing | None = sections.get("memory")
    if not unified and gpu is not None and not isinstance(gpu, Missing):
        free = [
            value
            for device in known(gpu.devices) or ()
            for value in [known(device.memory_free_bytes)]
            if value is not None
        ]
        if free:
            return round(max(free) / 1e9, 1)
    if memory is None or isinstance(memory, Missing):
        return None
    room = allocatable_bytes(memory)
    return None if room is None else round(max(0, room - RESERVE_BYTES) / 1e9, 1)
