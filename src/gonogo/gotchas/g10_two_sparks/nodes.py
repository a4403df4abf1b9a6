"""How many nodes the launch environment speaks of: WORLD_SIZE against the GPUs here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from gonogo.node.facts.missing import NOT_FOUND, Missing, known
from gonogo.node.facts.sections.gpu import Gpu, devices_of
from gonogo.node.facts.sections.launch import Launch
from gonogo.node.launch_variables import SET
from gonogo.platforms.identify import Platform
from gonogo.platforms.visible import visible_devices
from gonogo.printable import printable

_NODES = ("NNODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES")


class Nodes(NamedTuple):
    """``several``: ranks on other nodes too. ``told``: the environment says anything about ranks or nodes.

    ``unreadable`` is a WORLD_SIZE that is no number of ranks.
    """

    text: str
    several: bool = False
    told: bool = False
    unreadable: str | None = None


def variables_of(launch: Launch | Missing) -> Mapping[str, str]:
    """The launch environment; empty where it was not read."""
    return {} if isinstance(launch, Missing) else known(launch.variables) or {}


def shown(value: str) -> str:
    """A variable's value as a message may hold it."""
    return printable(value[:60]) + ("..." if len(value) > 60 else "")


def nodes_of(launch: Launch | Missing, gpu: Gpu | Missing, platform: Platform) -> Nodes:
    """WORLD_SIZE above the local GPUs means several nodes, unless LOCAL_WORLD_SIZE or NNODES say it better."""
    variables, local = variables_of(launch), _local_gpus(launch, gpu, platform)
    many = [f"{name} {number}" for name in _NODES for number in [_number(variables, name)] if number and number > 1]
    if _number(variables, "NODE_RANK"):
        many.append(f"NODE_RANK {_number(variables, 'NODE_RANK')}")
    said, world = variables.get("WORLD_SIZE", "").strip(), _number(variables, "WORLD_SIZE")
    told = bool(many or said) or variables.get("MASTER_ADDR") == SET
    if said and not world:
        return Nodes(local.words, bool(many), told, shown(said))
    here = _number(variables, "LOCAL_WORLD_SIZE")
    parts = [f"WORLD_SIZE {world}" if world else "WORLD_SIZE not set"]
    parts += [f"LOCAL_WORLD_SIZE {here}"] if here else []
    text = ", ".join([*parts, *many, local.words])
    if many:
        return Nodes(f"{text}: several nodes", True, told)
    if not world:
        return Nodes(text, told=told)
    if here:
        several: bool | None = world > here
    elif world == 1 or _number(variables, "NNODES") == 1:
        several = False
    else:
        several = local.needs_others(world)
    words = {True: ": several nodes", False: ": one node", None: ""}[several]
    return Nodes(text + words, bool(several), told)


class _Local(NamedTuple):
    """The GPUs here, and how many of them are visible; None where that cannot be told."""

    words: str
    total: int | None = None
    visible: int | None = None

    def needs_others(self, world: int) -> bool | None:
        """Whether ``world`` ranks need other nodes, each having a GPU of its own; None where it cannot be told.

        Slurm may show each rank its own GPUs alone, so only more ranks than there are GPUs at all are a proof.
        """
        if self.total is not None and world > self.total:
            return True
        return False if self.visible is not None and world <= self.visible else None


def _local_gpus(launch: Launch | Missing, gpu: Gpu | Missing, platform: Platform) -> _Local:
    devices = devices_of(gpu)
    if not devices:
        if platform.is_spark:
            return _Local("1 local GPU", 1, 1)  # it has one, whether or not it answers
        why = gpu if isinstance(gpu, Missing) else gpu.devices
        unknown = isinstance(why, Missing) and why.reason != NOT_FOUND
        return _Local("local GPUs unknown" if unknown else "no local GPU")
    visible, total = visible_devices(gpu, launch), len(devices)
    words = f"{total} local GPU{'s' if total > 1 else ''}"
    if any(known(device.mig_enabled) for device in devices):
        return _Local(f"{words} with MIG")  # several ranks on one GPU
    if visible.number is None:
        return _Local(words, total)
    return _Local(words if visible.number == total else f"{visible.number} of {words} visible", total, visible.number)


def _number(variables: Mapping[str, str], name: str) -> int | None:
    found = re.fullmatch(r"\s*([0-9]{1,7})\s*", variables.get(name, ""), re.ASCII)
    return int(found.group(1)) if found else None
