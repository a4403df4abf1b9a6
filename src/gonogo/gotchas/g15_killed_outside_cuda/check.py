"""G15 ahead of time: room for what a run writes. Full disks and a small /dev/shm end runs with no word of CUDA's."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gonogo.finding import FAIL, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import NOT_FOUND, Missing, known
from gonogo.node.facts.sections.container import Container
from gonogo.node.facts.sections.storage import Place, Storage
from gonogo.platforms.containment import weigh

GB = 10**9
#: Less than this is full, whatever is written next.
FULL_BYTES = 10**8
LOW_SHARE, LOW_BYTES = 0.10, 20 * GB
#: The working folder alone takes checkpoints, not whole models.
LOW_CHECKPOINT_BYTES = 5 * GB
#: /dev/shm in a container; docker gives 64 MB unless told otherwise.
SMALL_SHARED_BYTES = 1 * GB
WORDS = {"models": "models", "images": "container images", "folder": "the working folder"}


class _Room(NamedTuple):
    """One filesystem with the places on it that a run may write to."""

    places: tuple[Place, ...]
    total: int
    available: int

    @property
    def purposes(self) -> tuple[str, ...]:
        return tuple(place.purpose for place in self.places)

    def __str__(self) -> str:
        words = [WORDS[purpose] for purpose in self.purposes]
        where = " and ".join(([", ".join(words[:-1])] if words[1:] else []) + words[-1:])
        share = 100 * self.available / self.total
        digits = 1 if self.total >= GB else 3
        verb = "is" if self.purposes == ("folder",) else "go"
        size = f"{self.available / GB:.{digits}f} of {self.total / GB:.{digits}f} GB"
        return f"{size} free ({share:.1f} %) where {where} {verb}"


def check_disks(storage: Storage) -> Iterator[Finding]:
    """One finding for each filesystem that is short of room, or one that says that none is."""
    places = [place for place in known(storage.places) or () if place.purpose in WORDS]
    models = next((place for place in places if place.purpose == "models"), None)
    if isinstance(storage.places, Missing) or models is None:
        yield Finding("G15.unknown", UNKNOWN, f"where models go: {_or_missing(storage.places)}")
        return
    if isinstance(models.available_bytes, Missing):
        yield Finding("G15.unknown", UNKNOWN, f"room for models at {models.path}: {models.available_bytes}")
    rooms = _rooms([place for place in places if _counts(place)])
    short = [finding for room in rooms for finding in [_judged(room)] if finding]
    yield from short
    if short or isinstance(models.available_bytes, Missing):
        return
    if rooms:
        yield Finding("G15.ok", PASS, "; ".join(str(room) for room in rooms), _evidence(places))
    else:
        yield Finding("G15.skipped", SKIP, "no place that this user may write to tells its room", _evidence(places))


def _or_missing(places: object) -> str:
    return str(places) if isinstance(places, Missing) else "not collected"


def _counts(place: Place) -> bool:
    """A place that tells its size, and that is written to: images by the engine, the others by this user.

    A medium that nobody can write to has no room by nature (squashfs, a model store that is mounted read-only).
    """
    total, available = known(place.total_bytes), known(place.available_bytes)
    if not total or available is None or not 0 <= available <= total:
        return False
    return place.purpose == "images" or known(place.writable) is not False


def _rooms(places: Sequence[Place]) -> list[_Room]:
    """Places by filesystem. Datasets of one pool have device numbers of their own and the same figures."""
    rooms: list[list[Place]] = []
    for place in places:
        for room in rooms:
            first = room[0]
            figures = (first.total_bytes, first.available_bytes) == (place.total_bytes, place.available_bytes)
            if figures or (known(place.filesystem) is not None and place.filesystem == first.filesystem):
                room.append(place)
                break
        else:
            rooms.append([place])
    return [_Room(tuple(room), known(room[0].total_bytes) or 1, known(room[0].available_bytes) or 0) for room in rooms]


def _judged(room: _Room) -> Finding | None:
    values = {"path": shlex.quote(room.places[0].path)}
    if "images" in room.purposes:
        values["images"] = ""
    if "models" in room.purposes:
        values["models"] = ""
    if room.available < FULL_BYTES:
        text = f"full: {room}; whatever is written next fails (No space left on device)"
        return Finding("G15.full", FAIL, text, _evidence(room.places), values=values)
    if any(known(place.total_inodes) and known(place.available_inodes) == 0 for place in room.places):
        text = f"no inode is left: {room}; no file can be made (No space left on device)"
        return Finding("G15.no-inodes", FAIL, text, _evidence(room.places), values=values)
    if room.purposes == ("folder",):
        low = room.available < LOW_CHECKPOINT_BYTES
        keep = f"a checkpoint may not fit; keep {LOW_CHECKPOINT_BYTES // GB} GB"
    else:
        low = room.available < LOW_BYTES or room.available < LOW_SHARE * room.total
        keep = f"keep {LOW_SHARE:.0%} and {LOW_BYTES // GB} GB".replace("%", " %")
    if low:
        return Finding("G15.low-space", WARN, f"{room}; {keep}", _evidence(room.places), values=values)
    return None


def _evidence(places: Sequence[Place]) -> tuple[str, ...]:
    return tuple(
        f"{place.purpose}: {place.path}: {known(place.available_bytes)} of {known(place.total_bytes)} bytes and "
        f"{known(place.available_inodes)} of {known(place.total_inodes)} inodes free"
        for place in places
    )


def check_shared_memory(storage: Storage, container: Container | Missing) -> Iterator[Finding]:
    """/dev/shm. A container's is small unless more was asked for; a host's is its owner's affair."""
    place = next((place for place in known(storage.places) or () if place.purpose == "shared-memory"), None)
    if place is None:
        return
    total, available = known(place.total_bytes), known(place.available_bytes)
    if isinstance(place.total_bytes, Missing) and place.total_bytes.reason != NOT_FOUND:
        yield Finding("G15.unknown", UNKNOWN, f"{place.path}: {place.total_bytes}")
    if not total or available is None:  # a tmpfs without a limit shows a size of 0
        return
    size = f"{available / GB:.2f} of {total / GB:.2f} GB free in {place.path}"
    gone = known(place.total_inodes) and known(place.available_inodes) == 0
    inside = weigh(container).inside is True
    values = {"inside": ""} if inside else {}
    if gone or available < min(FULL_BYTES, total // 10):
        text = (
            f"{size}{', and no inode' if gone else ''}: data loaders, NCCL and engines cannot exchange data (Bus error)"
        )
        yield Finding("G15.shared-memory-full", FAIL, text, _evidence([place]), values=values)
    elif inside and total < SMALL_SHARED_BYTES:
        text = f"{size} in this container: data loaders with workers, NCCL and engines need 1 GB and more (Bus error)"
        yield Finding("G15.shared-memory-small", WARN, text, _evidence([place]))
