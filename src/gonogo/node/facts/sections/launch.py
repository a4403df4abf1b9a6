"""The environment that a run started from here would inherit: only variables of launchers, CUDA, NCCL and engines."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Launch(NamedTuple):
    """``variables`` by name, values as set; of those that hold addresses only "set" or "loopback" is kept."""

    variables: Mapping[str, str] | Missing = UNCOLLECTED
