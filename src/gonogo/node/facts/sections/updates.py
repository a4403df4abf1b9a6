"""What the vendor's own tools say of updates and firmware; slow and perhaps over the network, so only on request."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Updates(NamedTuple):
    """Collected with --thorough only."""

    ota_check: tuple[str, ...] | Missing = UNCOLLECTED  # what nvidia-spark-ota-check printed, line by line
    firmware: Mapping[str, str] | Missing = UNCOLLECTED  # fwupdmgr's devices: name: version
