"""Space where a run writes: the models' folder, the container engine's, the working folder, shared memory."""

from __future__ import annotations

from typing import NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Place(NamedTuple):
    """``purpose`` is models, images, folder or shared-memory. ``filesystem`` tells which places share one (st_dev).

    ``path`` is what was measured: the nearest existing folder where the wanted one is not there yet.
    """

    purpose: str
    path: str
    filesystem: int | Missing = UNCOLLECTED
    total_bytes: int | Missing = UNCOLLECTED
    available_bytes: int | Missing = UNCOLLECTED  # to this user: without root's reserve
    total_inodes: int | Missing = UNCOLLECTED  # 0: the filesystem does not count them
    available_inodes: int | Missing = UNCOLLECTED
    writable: bool | Missing = UNCOLLECTED  # for this user; False on a read-only filesystem for everybody


class Storage(NamedTuple):
    """Places in the order models, images, folder, shared-memory."""

    places: tuple[Place, ...] | Missing = UNCOLLECTED
