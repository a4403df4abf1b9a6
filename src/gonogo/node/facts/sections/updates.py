"""What the vendor's own tools say of updates and firmware; slow and perhaps over the network, so only on request."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Updates(NamedTuple):
    """Collected with --thorough only. The releases are of the form OTA2607; not_found: not printed in a known form."""

    ota_check: tuple[str, ...] | Missing = UNCOLLECTED  # the first lines that nvidia-spark-ota-check printed
    firmware: Mapping[str, str] | Missing = UNCOLLECTED  # fwupdmgr's devices: name: version
    installed_release: str | Missing = UNCOLLECTED  # the one that this machine's parts match best
    newest_release: str | Missing = UNCOLLECTED  # of those that the installed checker knows
    differing_percent: float | Missing = UNCOLLECTED  # parts that are not as the installed release has them
