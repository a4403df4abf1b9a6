"""G15 ahead of time: each limit from both sides.

Expected values: the table of the field rules (10 %, 20 GB, 1 GB of /dev/shm in a container, full), and what statvfs
shows of media that have no room by nature.
"""

from __future__ import annotations

from typing import Any

import pytest
from machine_stories import load_all, merge_patch

from gonogo.finding import Finding
from gonogo.node.facts.codec import decode
from gonogo.preflight import Request, judge

STORIES = {story.name: story.document for story in load_all()}
SPARK, CONTAINER = "spark-idle-2026", "spark-container-no-host-view"
GB = 10**9
TOTAL = 4000 * GB


def place(
    purpose: str = "models", available: Any = 2700 * GB, total: Any = TOTAL, filesystem: int = 1, **more: Any
) -> Any:
    path = {"models": "/m", "images": "/i", "folder": "/f", "shared-memory": "/dev/shm"}[purpose]
    inodes = {"total_inodes": 1000, "available_inodes": 900}
    sizes = {"total_bytes": total, "available_bytes": available}
    return {"purpose": purpose, "path": path, "filesystem": filesystem, **sizes, **inodes, **more}


def g15(places: Any, base: str = SPARK) -> list[Finding]:
    document = merge_patch(STORIES[base], {"sections": {"storage": {"places": places}}})
    return judge(decode(document), Request()).of("G15")


def statuses(places: Any, base: str = SPARK) -> list[tuple[str, str]]:
    return [(item.code.partition(".")[2], item.status) for item in g15(places, base)]


OK, LOW, FULL = [("ok", "PASS")], [("low-space", "WARN")], [("full", "FAIL")]


@pytest.mark.parametrize(
    ("available", "total", "expected"),
    [
        *((2700 * GB, TOTAL, OK), (400 * GB, TOTAL, OK), (399 * GB, TOTAL, LOW)),
        *((20 * GB, 100 * GB, OK), (20 * GB - 1, 100 * GB, LOW), (19 * GB, 20 * GB, LOW)),
        *((10**8, TOTAL, LOW), (10**8 - 1, TOTAL, FULL), (0, TOTAL, FULL)),
        # A file system that tells no size: some network and FUSE mounts, a tmpfs without a limit.
        (0, 0, [("skipped", "SKIP")]),
    ],
)
def test_room_for_models(available: int, total: int, expected: list[tuple[str, str]]) -> None:
    assert statuses([place(available=available, total=total)]) == expected


def test_places_on_one_filesystem_are_one_finding() -> None:
    low = [place(purpose, 15 * GB) for purpose in ("models", "images", "folder")]
    (found,) = g15(low)
    assert found.message.startswith("15.0 of 4000.0 GB free (0.4 %) where models, container images and the working")
    assert len(found.evidence) == 3
    # Datasets of one pool: other device numbers, the same figures.
    pool = [place("models", 15 * GB, filesystem=1), place("folder", 15 * GB, filesystem=2)]
    assert statuses(pool) == LOW


@pytest.mark.parametrize(
    ("purpose", "available", "expected"),
    [
        *(("images", 15 * GB, LOW), ("images", 0, FULL), ("images", 2000 * GB, OK)),
        # The working folder takes checkpoints: table row 15 is about models, so 5 GB is its limit.
        *(("folder", 15 * GB, OK), ("folder", 4 * GB, LOW), ("folder", 10**7, FULL)),
    ],
)
def test_another_filesystem_is_judged_by_what_goes_there(
    purpose: str, available: int, expected: list[tuple[str, str]]
) -> None:
    assert statuses([place(), place(purpose, available, filesystem=2)]) == expected


def test_no_inodes() -> None:
    assert statuses([place(available_inodes=0)]) == [("no-inodes", "FAIL")]
    # btrfs and vfat count none: statvfs shows 0 of 0.
    assert statuses([place(total_inodes=0, available_inodes=0)]) == OK
    older = place()
    del older["total_inodes"], older["available_inodes"]
    assert statuses([older]) == OK


def test_media_that_nobody_writes_to_have_no_room_by_nature() -> None:
    """squashfs, a CD, a model store mounted read-only: no block and no inode is available there, ever."""
    medium = {"available": 0, "available_inodes": 0, "writable": False}
    assert statuses([place(), place("folder", filesystem=2, **medium)]) == OK
    assert statuses([place("models", **medium)]) == [("skipped", "SKIP")]
    # Docker's folder is not this user's to write to, and fills up all the same.
    assert statuses([place(), place("images", 0, filesystem=2, writable=False)]) == FULL


def test_what_could_not_be_read_is_no_pass() -> None:
    denied = {"missing": "permission_denied"}
    assert statuses([place(available=denied, total=denied)]) == [("unknown", "UNKNOWN")]
    assert statuses(denied) == [("unknown", "UNKNOWN")]
    assert statuses([]) == statuses([place("folder")]) == [("unknown", "UNKNOWN")]
    # What is known of the others is told beside it.
    told = statuses([place(available=denied, total=denied), place("folder", 0, filesystem=2)])
    assert told == [("full", "FAIL"), ("unknown", "UNKNOWN")]
    del (document := merge_patch(STORIES[SPARK], {}))["sections"]["storage"]
    assert [item.status for item in judge(decode(document), Request()).of("G15")] == ["SKIP"]


SMALL, SHM_FULL = [("shared-memory-small", "WARN")], [("shared-memory-full", "FAIL")]


@pytest.mark.parametrize(
    ("base", "total", "available", "expected"),
    [
        *((CONTAINER, 64 << 20, 64 << 20, SMALL), (CONTAINER, GB - 1, GB - 1, SMALL), (CONTAINER, GB, GB, [])),
        (CONTAINER, 1 << 30, 1 << 30, []),  # --shm-size=1g, as NGC recommends
        (CONTAINER, 64 * GB, 64 * GB, []),  # --ipc=host
        *((SPARK, 512 << 20, 512 << 20, []), (SPARK, 64 * GB, 64 * GB, [])),  # a host's is its owner's
        *((SPARK, 64 * GB, 0, SHM_FULL), (SPARK, 64 * GB, 99 * 10**6, SHM_FULL), (SPARK, 64 * GB, GB, [])),
        *((CONTAINER, 64 << 20, 1 << 20, SHM_FULL), (CONTAINER, 64 << 20, 60 << 20, SMALL)),
        (SPARK, 0, 0, []),  # no limit
    ],
)
def test_shared_memory(base: str, total: int, available: int, expected: list[tuple[str, str]]) -> None:
    places = [place(), place("shared-memory", available, total, filesystem=3)]
    assert sorted(statuses(places, base)) == sorted([*OK, *expected])


def test_shared_memory_that_is_not_there_or_may_not_be_read() -> None:
    def shm(why: str) -> list[tuple[str, str]]:
        fact = {"missing": why}
        return statuses([place(), place("shared-memory", fact, fact)])

    assert shm("not_found") == OK
    assert shm("permission_denied") == [("unknown", "UNKNOWN"), ("ok", "PASS")]


def test_steps_name_the_place_and_fit_it() -> None:
    (found,) = g15([place(available=0, path="/mnt/my models")])
    steps = [step.step for step in found.fix]
    assert "df -h '/mnt/my models'" in steps[0] and found.fix[0].impact == "none"
    assert any("HF_HOME" in step for step in steps) and not any("docker" in step for step in steps)
    (found,) = g15([place(), place("images", 0, filesystem=2)])
    steps = [step.step for step in found.fix]
    assert any("docker system df" in step for step in steps) and not any("HF_HOME" in step for step in steps)
    inside = g15([place(), place("shared-memory", 0, 64 << 20)], CONTAINER)[0]
    outside = g15([place(), place("shared-memory", 0, 64 * GB)])[0]
    assert ["--ipc=host" in item.fix[-1].step for item in (inside, outside)] == [True, False]
