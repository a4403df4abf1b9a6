"""G8's dated notes and the age of the data, and G18's tools. Expectations: field rules, and what they cite."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from machine_stories import load_all, merge_patch

from gonogo.finding import INFO, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.gotchas.g08_stale_playbooks.dates import CATALOGUE_DATE, NEWEST
from gonogo.node.facts.codec import decode
from gonogo.preflight import Request, judge
from gonogo.selection import Selection

STORIES = {story.name: story.document for story in load_all()}
SPARK, CONTAINER, H200 = "spark-idle-2026", "spark-container-no-host-view", "h200-idle"
ABSENT = {"missing": "not_found"}
SITE = "/opt/venv/lib/python3.12/site-packages"


def found(
    gotcha: str, base: str = SPARK, when: str | None = None, platform: str | None = None, **sections: Any
) -> list[Finding]:
    document = merge_patch(STORIES[base], {"sections": sections})
    if when is not None:
        document["collected_at"] = when
    return list(judge(decode(document), Request(platform=platform, selection=Selection(select=(gotcha,)))).findings)


def statuses(gotcha: str, base: str = SPARK, **given: Any) -> dict[str, str]:
    return {item.code.partition(".")[2]: item.status for item in found(gotcha, base, **given)}


def python(**versions: str) -> dict[str, Any]:
    """An environment with these packages beside torch, whose own figures stay."""
    rows = [{"name": name.replace("_", "-"), "version": version, "folder": SITE} for name, version in versions.items()]
    return {"distributions": rows}


# -- G18 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.0.2-1ubuntu1", PASS),  # Ubuntu 24.04's
        ("3.3.0-1", PASS),
        ("3.3.1-1", WARN),
        ("3.3.2-1", WARN),
        ("3.4.0-1", PASS),  # its notes: UMA memory fallback
        ("4.0", PASS),
    ],
)
def test_nvtop(version: str, expected: str) -> None:
    (item,) = found("G18", software={"packages": {"nvtop": version}})
    assert item.status == expected
    assert (version in item.message) == (expected == WARN)
    # A card with memory of its own has no such trouble.
    assert statuses("G18", H200, software={"packages": {"nvtop": version}}) == {"skipped": SKIP}


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [("nvgpu", "0.10.0", WARN), ("whichllm", "0.5.3", WARN), ("whichllm", "0.6.0", PASS), ("nvitop", "1.7.1", PASS)],
)
def test_python_tools(name: str, version: str, expected: str) -> None:
    assert list(statuses("G18", python=python(**{name: version})).values()) == [expected]
    assert list(statuses("G18", CONTAINER, python=python(**{name: version})).values()) == [expected]
    assert statuses("G18", H200, python=python(**{name: version})) == {"skipped": SKIP}


def test_every_tool_that_fails_is_named() -> None:
    both = found("G18", software={"packages": {"nvtop": "3.3.2-1"}}, python=python(nvgpu="0.10.0"))
    assert [item.message.partition(":")[0] for item in both] == ["nvtop 3.3.2-1", "nvgpu 0.10.0"]
    assert all(item.fix and item.evidence for item in both)


def test_where_no_memory_figure_is_missing_nothing_is_judged() -> None:
    assert statuses("G18", "cpu-vm") == {"skipped": SKIP}
    assert statuses("G18", "rtx-5090-desktop") == {"skipped": SKIP}
    # The N1X shares its memory as well.
    assert statuses("G18", "n1x-sibling", software={"packages": {"nvtop": "3.3.2-1"}}) == {"tool-fails": WARN}
    assert [item.status for item in found("G18", H200, platform="gb10", python=python(nvgpu="0.10.0"))] == [WARN]


def test_packages_that_were_not_read_are_no_pass() -> None:
    assert statuses("G18", software={"packages": ABSENT}) == {"ok": PASS}
    assert statuses("G18", python={"distributions": ABSENT}) == {"ok": PASS}
    neither = {"software": {"packages": ABSENT}, "python": {"distributions": ABSENT}}
    assert statuses("G18", **neither) == {"skipped": SKIP}
    neither["software"]["packages"] = {"missing": "failed", "detail": "Input/output error"}
    assert statuses("G18", **neither) == {"unknown": UNKNOWN}


# -- G8 ---------------------------------------------------------------------------------------------------------------

NOTHING = {"skipped": SKIP}


def linked(up: bool) -> dict[str, Any]:
    card = {"name": "enp1s0f0np0", "pci_device_id": "15b3:1021", "driver": "mlx5_core", "link_up": up}
    return {"interfaces": [{"name": "enP7s7", "driver": "r8127", "link_up": True}, card]}


def test_with_nothing_named_there_is_nothing_to_look_up() -> None:
    for base in (SPARK, CONTAINER, H200, "cpu-vm", "rtx-5090-desktop", "spark-idle-2025"):
        assert statuses("G8", base) == NOTHING, base


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"NVIDIA_PYTORCH_VERSION": "25.07"}, {"old-image": INFO}),
        ({"NVIDIA_PYTORCH_VERSION": "25.08"}, NOTHING),
        ({"NVIDIA_PYTORCH_VERSION": "25.09"}, NOTHING),
        ({"NVIDIA_PYTORCH_VERSION": "26.04"}, NOTHING),
        ({"NVIDIA_VLLM_VERSION": "25.12"}, {"image-holds-older-engine": INFO}),
        ({"NVIDIA_VLLM_VERSION": "26.01"}, NOTHING),
    ],
)
def test_images(variables: dict[str, str], expected: dict[str, str]) -> None:
    unset = {"NVIDIA_PYTORCH_VERSION": None, "NVIDIA_VLLM_VERSION": None}
    assert statuses("G8", CONTAINER, container={"environment": {**unset, **variables}}) == expected
    assert statuses("G8", H200, container={"environment": variables}) == NOTHING


@pytest.mark.parametrize("name", ["nvidia_nccl_cu13", "nvidia_nccl_cu12"])
def test_an_old_nccl_matters_between_two_sparks_alone(name: str) -> None:
    """torch 2.9.1 brings NCCL 2.27.7: on one Spark that is no news."""
    old = python(**{name: "2.27.7"})
    assert statuses("G8", python=old, network=linked(up=True)) == {"old-nccl": INFO}
    assert statuses("G8", python=old, network=linked(up=False)) == NOTHING
    assert statuses("G8", python=old, network={"interfaces": ABSENT}) == NOTHING
    assert statuses("G8", python=python(**{name: "2.28.9"}), network=linked(up=True)) == NOTHING
    assert statuses("G8", H200, python=old, network=linked(up=True)) == NOTHING


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"python": {"torch": {"version": "3.0.0+cu130"}}}, "torch 3.0.0+cu130"),
        ({"gpu": {"cuda_version": "14.0"}}, "CUDA 14.0"),
        ({"driver": {"kernel_module_version": "620.10"}}, "driver 620.10"),
    ],
)
def test_a_newer_major_is_one_line(sections: dict[str, Any], said: str) -> None:
    (item,) = found("G8", **sections)
    assert (item.status, item.code) == (INFO, "G8.newer-than-data")
    assert said in item.message and CATALOGUE_DATE in item.message


def test_everything_newer_is_still_one_line() -> None:
    newer = {
        "python": {"torch": {"version": "3.1"}},
        "gpu": {"cuda_version": "14.0"},
        "driver": {"kernel_module_version": "700.1"},
    }
    (item,) = found("G8", **newer)
    assert "torch 3.1, CUDA 14.0, driver 700.1" in item.message


@pytest.mark.parametrize(
    "sections",
    [
        {"python": {"torch": {"version": "2.99.0"}}},
        {"gpu": {"cuda_version": "13.9"}},
        {"driver": {"kernel_module_version": "615.99"}},
        {"python": {"torch": {"version": "unknown"}}},
    ],
)
def test_a_newer_minor_is_not_told(sections: dict[str, Any]) -> None:
    assert statuses("G8", **sections) == NOTHING


@pytest.mark.parametrize(
    ("days", "expected"),
    [(0, NOTHING), (180, NOTHING), (181, {"old-data": INFO}), (900, {"old-data": INFO}), (-400, NOTHING)],
)
def test_the_age_of_the_data(days: int, expected: dict[str, str]) -> None:
    day = date.fromisoformat(CATALOGUE_DATE) + timedelta(days)
    assert statuses("G8", when=f"{day.isoformat()}T12:00:00Z") == expected


@pytest.mark.parametrize("when", ["", "yesterday", "2026-13-45T00:00:00Z", "2027"])
def test_a_date_that_is_none_is_not_judged(when: str) -> None:
    assert statuses("G8", when=when) == NOTHING


def test_the_newest_majors_have_their_sources() -> None:
    assert [(row.name, row.major) for row in NEWEST] == [("torch", 2), ("CUDA", 13), ("driver", 615)]
    assert all(row.source for row in NEWEST)
