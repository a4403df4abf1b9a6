"""Which GPUs a program started from here would see: CUDA_VISIBLE_DEVICES as the CUDA driver reads it.

Source: CUDA programming guide, CUDA Environment Variables. What it leaves open (duplicates, signs, blanks, text after
a number, numbers among UUIDs) was tried with cuInit and cuDeviceGetCount of driver 580.159.04 on two GPUs, 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice, devices_of
from gonogo.node.facts.sections.launch import Launch
from gonogo.node.launch_variables import LIMIT_CHARACTERS

#: An entry is read like strtoul does: blanks, a sign, digits; what follows them is ignored.
_ORDINAL = re.compile(r"[ \t\n\v\f\r]*([+-]?)([0-9]+)")


class Visible(NamedTuple):
    """``devices`` in the order of the list or as NVML numbers them; some may be hidden where ``certain`` is False.

    ``number`` is how many CUDA shows, None where that cannot be told either.
    """

    devices: tuple[GpuDevice, ...]
    certain: bool = True
    number: int | None = None


def visible_devices(gpu: Gpu | Missing, launch: Launch | Missing) -> Visible:
    """The GPUs that the launch environment leaves. Without the facts of one of the two nothing is certain."""
    devices = devices_of(gpu)
    variables = None if isinstance(launch, Missing) else known(launch.variables)
    if isinstance(gpu, Missing) or isinstance(gpu.devices, Missing) or variables is None:
        return Visible(devices, certain=False)
    wanted = variables.get("CUDA_VISIBLE_DEVICES")
    partitioned = any(known(device.mig_enabled) for device in devices)  # CUDA counts MIG instances then, NVML GPUs
    if wanted is None:
        return Visible(devices, number=None if partitioned else len(devices))
    if partitioned or wanted.startswith(("GPU-", "MIG-")) or len(wanted) >= LIMIT_CHARACTERS:
        return Visible(devices, certain=False)  # UUIDs are not collected; or the list was cut
    places = _ordinals(wanted, len(devices))
    chosen = tuple(devices[place] for place in places)
    in_order = variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or _alike(devices)
    if in_order or len(chosen) in (0, len(devices)):
        return Visible(chosen, number=len(chosen))
    return Visible(devices, certain=False, number=len(chosen))


def _ordinals(wanted: str, number: int) -> list[int]:
    """The GPUs named, up to the first entry that is none of ``number``; an entry that comes twice hides all."""
    places: list[int] = []
    for entry in wanted.split(","):
        found = _ORDINAL.match(entry)
        place = -1 if found is None else min(int(found.group(2)), (1 << 64) - 1) % (1 << 32)
        if found is None or place >= number or (found.group(1) == "-" and place):
            break
        if place in places:
            return []
        places.append(place)
    return places


def _alike(devices: Sequence[GpuDevice]) -> bool:
    """GPUs of one name keep NVML's order, that of the PCI bus; of different ones CUDA puts the fastest first."""
    names = {known(device.name) for device in devices}
    return len(names) <= 1 and None not in names
