"""G4 from the login records: boots that ended without a shutdown. Expectations: the field rules, G4 (c) and (d)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from machine_stories import load_all, merge_patch

from gonogo.finding import FAIL, WARN, Finding
from gonogo.node.facts.codec import decode
from gonogo.preflight import Request, judge
from gonogo.selection import Selection

STORIES = {story.name: story.document for story in load_all()}
SPARK, DAY = "spark-idle-2026", 86400
#: The stories' check was on 2026-11-30 12:00 UTC.
CHECKED = 1796040000
#: NVIDIA/open-gpu-kernel-modules#1358, LMCache/LMCache#4759, model-serving-minefield#134.
MEMORY_LINES = (
    "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)",
    "oom-kill:constraint=CONSTRAINT_NONE,task=lmcache,pid=3742074,uid=0",
    'sending SIGTERM to process 812 uid 1000 "VLLM::EngineCore": badness 900',
)
CRASH_LINES = (
    "Kernel panic - not syncing: Oops: Fatal exception",
    "Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 26s!",
)


def recent(*rows: tuple[int, str]) -> list[dict[str, Any]]:
    return [
        {"started_unix_seconds": start, "ending": ending, "kernel_release": "6.17.0-1031-nvidia"}
        for start, ending in rows
    ]


def cut(times: int, newest: int = CHECKED - DAY, apart: int = DAY) -> list[dict[str, Any]]:
    """A running boot, so many cut ones before it, and one that was shut down."""
    starts = [newest - apart * number for number in range(times + 2)]
    return recent((starts[0], "running"), *((start, "cut") for start in starts[1:-1]), (starts[-1], "shutdown"))


def found(
    boots: Any, base: str = SPARK, when: str | None = None, platform: str | None = None, **sections: Any
) -> list[Finding]:
    given = boots if isinstance(boots, dict) else {"recent": boots, "saved_crash_files": [], "journal_end": []}
    document = merge_patch(STORIES[base], {"sections": {"boots": given, **sections}})
    if when is not None:
        document["collected_at"] = when
    judged = judge(decode(document), Request(platform=platform, selection=Selection(select=("G4",)))).findings
    sample = ("G4.reading", "G4.ok", "G4.skipped", "G4.no-answer", "G4.unknown")
    return [item for item in judged if item.code not in sample]


def codes(*given: Any, **more: Any) -> dict[str, str]:
    return {item.code.partition(".")[2]: item.status for item in found(*given, **more)}


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (0, {}),
        (1, {"power-cut": WARN}),
        (2, {"power-cut": WARN}),
        (3, {"repeated-power-cuts": FAIL}),
        (8, {"repeated-power-cuts": FAIL}),
    ],
)
def test_one_cut_is_a_warning_and_several_are_a_fault(times: int, expected: dict[str, str]) -> None:
    assert codes(cut(times)) == expected


def test_the_message_begins_with_the_reading_and_names_when() -> None:
    """date -u -d @1795867200 is 2026-11-28 12:00, a day before the next start."""
    (item,) = found(cut(1))
    assert re.match(r"36, 3\.00 W( |$)", item.message)  # scripts take it from the start of G4's line
    assert (
        "2026-11-28 12:00 UTC" in item.message and "2026-11-29 12:00 UTC" in item.message and "by hand" in item.message
    )
    (two,) = found(cut(2))
    assert "and 1 more before" in two.message
    (many,) = found(cut(4))
    assert many.message.startswith("36, 3.00 W now; 4 boots ended without a shutdown within 14 days")
    assert all(found_.evidence and found_.fix for found_ in (item, two, many))


def test_without_a_reading_it_begins_with_the_fact() -> None:
    (item,) = found(cut(1), gpu={"devices": []})
    assert item.message.startswith("the boot of 2026-11-28 12:00 UTC ended without a shutdown")


def test_only_the_last_fourteen_days_count() -> None:
    fortnight = 14 * DAY
    assert codes(cut(1, newest=CHECKED - fortnight)) == {"power-cut": WARN}
    assert codes(cut(1, newest=CHECKED - fortnight - 1)) == {}
    # Three in a fortnight, the others before.
    assert codes(cut(8, newest=CHECKED, apart=7 * DAY)) == {"repeated-power-cuts": FAIL}
    assert codes(cut(8, newest=CHECKED - DAY, apart=10 * DAY)) == {"power-cut": WARN}


def test_boots_of_the_future_tell_nothing() -> None:
    assert codes(cut(3, newest=CHECKED + 400 * DAY)) == {}


@pytest.mark.parametrize("when", ["", "yesterday", "1970-01-01T00:00:00Z"])
def test_without_a_date_the_newest_boot_is_now(when: str) -> None:
    assert codes(cut(1, newest=1790000000), when=when) == {"power-cut": WARN}
    old = recent((1790000000, "running"), (1789000000, "shutdown"), (1788000000, "shutdown"), (1787000000, "cut"))
    assert codes(old, when=when) == {}


def test_other_machines_and_containers_are_left_alone() -> None:
    for base in ("h200-idle", "rtx-5090-desktop", "cpu-vm", "spark-container-no-host-view", "n1x-sibling"):
        assert codes(cut(5), base) == {}, base
    assert codes(cut(5), "h200-idle", platform="gb10") == {}


@pytest.mark.parametrize("why", ["not_found", "not_collected", "permission_denied", "failed"])
def test_what_is_not_known_is_not_told(why: str) -> None:
    lacking = {"missing": why}
    assert codes({"recent": None, "saved_crash_files": None, "journal_end": None, **lacking}) == {}
    assert codes({"recent": lacking}) == {}
    assert codes({"recent": []}) == {}
    assert codes({"recent": cut(1), "saved_crash_files": lacking, "journal_end": lacking}) == {"power-cut": WARN}


# -- what the end of the journal says ---------------------------------------------------------------------------------


def ending(*lines: str, times: int = 1, saved: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"recent": cut(times), "saved_crash_files": list(saved), "journal_end": list(lines)}


def test_a_hand_on_the_power_key_is_no_fault() -> None:
    assert codes(ending("Power key pressed short.")) == {}
    assert codes(ending(MEMORY_LINES[0], "Power key pressed long.")) == {}
    # The journal is of the last boot alone: of three cuts two remain.
    assert codes(ending("Power key pressed short.", times=3)) == {"power-cut": WARN}


@pytest.mark.parametrize("line", MEMORY_LINES)
def test_memory_that_ran_out_is_not_the_power(line: str) -> None:
    assert codes(ending(line)) == {"cut-out-of-memory": WARN}
    (item,) = found(ending(line))
    assert "G3" in item.message and any(line[:40] in text for text in item.evidence)
    assert codes(ending(line, times=3)) == {"power-cut": WARN, "cut-out-of-memory": WARN}


@pytest.mark.parametrize("line", CRASH_LINES)
def test_a_kernel_that_crashed_is_not_the_power(line: str) -> None:
    assert codes(ending(line)) == {"kernel-crash": WARN}


def test_lines_that_name_no_cause_leave_it_at_the_power() -> None:
    assert codes(ending("NVRM: GPU at PCI:000f:01:00: GPU-0")) == {"power-cut": WARN}


def test_heat_adds_a_step() -> None:
    hot = "thermal thermal_zone0: acpitz: critical temperature reached, shutting down"
    steps = [len(item.fix) for lines in ((), (hot,)) for item in found(ending(*lines))]
    assert steps[1] == steps[0] + 1


# -- saved kernel crashes ---------------------------------------------------------------------------------------------

#: The cut boot of cut(1) ran from 2026-11-28 12:00 to 2026-11-29 12:00 UTC at the latest.
WITHIN, BEFORE = CHECKED - DAY - 3600, CHECKED - 40 * DAY


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((f"dmesg-efi-{WITHIN}01001",), {"kernel-crash": WARN}),
        ((str(WITHIN),), {"kernel-crash": WARN}),
        ((str(BEFORE),), {"power-cut": WARN}),  # systemd keeps old ones for ever
        ((str(BEFORE), str(WITHIN)), {"kernel-crash": WARN}),
        (("dmesg-ramoops-0",), {"kernel-crash": WARN}),  # without a time: the last one's
        (("dmesg-erst-6319986351055831041",), {"kernel-crash": WARN}),
    ],
)
def test_a_saved_crash_belongs_to_the_boot_of_its_time(names: tuple[str, ...], expected: dict[str, str]) -> None:
    assert codes(ending(saved=names)) == expected


def test_crashes_again_and_again_are_a_fault_of_their_own() -> None:
    names = tuple(str(WITHIN - DAY * number) for number in range(3))
    assert codes(ending(times=3, saved=names)) == {"kernel-crash": FAIL}
    assert codes(ending(times=3, saved=names[:1])) == {"power-cut": WARN, "kernel-crash": WARN}


@pytest.mark.parametrize("start", [-(10**15), 0, 2**40, 10**17])
def test_clocks_that_were_never_set(start: int) -> None:
    rows = recent((CHECKED, "running"), (start, "cut"))
    (item,) = found(rows)
    assert item.code == "G4.power-cut"
    assert codes(recent((start, "running"), (CHECKED, "cut"))) in ({}, {"power-cut": WARN})
