"""G17 on machines that differ from a healthy one in one point. Expectations: field rules, and the reports they cite."""

from __future__ import annotations

from typing import Any

import pytest
from machine_stories import load_all, merge_patch

from gonogo.finding import FAIL, INFO, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.node.facts.codec import decode
from gonogo.preflight import Request, judge
from gonogo.selection import Selection

STORIES = {story.name: story.document for story in load_all()}
SPARK, CONTAINER, H200 = "spark-idle-2026", "spark-container-no-host-view", "h200-idle"
RTX = "rtx-5090-desktop"
#: Here the PCI device shows, and so a Spark, whatever the GPU says.
DARK_CONTAINER = "spark-container-gpu-not-passed"
ABSENT = {"missing": "not_found"}


def found(base: str = SPARK, platform: str | None = None, **sections: Any) -> list[Finding]:
    document = merge_patch(STORIES[base], {"sections": sections})
    return list(judge(decode(document), Request(platform=platform, selection=Selection(select=("G17",)))).findings)


def codes(base: str = SPARK, **sections: Any) -> dict[str, str]:
    return {item.code.partition(".")[2]: item.status for item in found(base, **sections)}


def kernel(release: str) -> dict[str, Any]:
    return {"kernel_release": release}


def driver(version: str, **more: Any) -> dict[str, Any]:
    return {"kernel_module_version": version, "libcuda_version": version, **more}


def silent(**devices: Any) -> dict[str, Any]:
    return {"devices": devices or []}


def test_a_healthy_spark_passes() -> None:
    assert codes() == {"ok": PASS}
    assert codes("spark-idle-2025") == {"ok": PASS}


# -- kernels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "code"),
    [
        ("6.17.0-1008-nvidia", "kernel-panics"),
        ("6.17.0-1021-nvidia", "kernel-drops-connectx"),
        ("6.17.0-1021-nvidia-64k", "kernel-drops-connectx"),
        ("6.17.0-1029-nvidia", "kernel-drops-connectx"),
        ("7.0.0-1019-nvidia", "kernel-rdma-memory"),
    ],
)
def test_known_bad_kernels_warn_on_a_spark_alone(release: str, code: str) -> None:
    assert codes(identity=kernel(release)) == {code: WARN}
    # The kernel is the host's inside a container as well.
    assert codes(CONTAINER, identity=kernel(release)) == {code: WARN}
    assert codes(H200, identity=kernel(release)) == codes(RTX, identity=kernel(release)) == {"skipped": SKIP}


@pytest.mark.parametrize(
    "release",
    [
        "6.11.0-1016",
        "6.14.0-1015",
        "6.17.0-1004",
        "6.17.0-1018",
        "6.17.0-1022",
        "6.17.0-1031",
        "6.17.0-1032",
        "7.0.0-1020",
    ],
)
def test_other_kernels_in_the_field_are_fine(release: str) -> None:
    assert codes(identity=kernel(f"{release}-nvidia")) == {"ok": PASS}


def test_a_kernel_that_is_not_known_is_no_pass() -> None:
    assert codes(identity={"kernel_release": None}) == {"unknown": UNKNOWN}


# -- reserved memory --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("total", "free", "expected"),
    [
        (0, 940604 << 10, {"more-free-than-total": WARN}),
        (134217728, 134217729, {"more-free-than-total": WARN}),
        (134217728, 134217728, {"ok": PASS}),
        (0, 0, {"ok": PASS}),
        (ABSENT, 5, {"ok": PASS}),
        (0, ABSENT, {"ok": PASS}),
        (ABSENT, ABSENT, {"ok": PASS}),
    ],
)
def test_more_reserved_memory_free_than_there_is(total: Any, free: Any, expected: dict[str, str]) -> None:
    assert codes(memory={"cma_total_bytes": total, "cma_free_bytes": free}) == expected
    assert "more-free-than-total" not in codes(H200, memory={"cma_total_bytes": total, "cma_free_bytes": free})


def test_handover_is_told_once_and_not_where_it_is_off() -> None:
    """MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#259: the mark, and both figures 0 with kho=off."""
    bad = kernel("7.0.0-1019-nvidia")
    assert codes(identity=bad, memory={"cma_total_bytes": 0, "cma_free_bytes": 1 << 20}) == {
        "more-free-than-total": WARN
    }
    assert codes(identity=bad, memory={"cma_total_bytes": 0, "cma_free_bytes": 0}) == {"ok": PASS}
    assert codes(identity=bad, memory={"cma_total_bytes": ABSENT, "cma_free_bytes": ABSENT}) == {
        "kernel-rdma-memory": WARN
    }


# -- updates ----------------------------------------------------------------------------------------------------------

TORN = {"unfinished_packages": {"nvidia-driver-580-open": "half-configured"}}


def test_an_update_that_stopped_half_way() -> None:
    assert codes(software=TORN) == {"torn-update": WARN}
    assert codes(H200, software=TORN) == {"torn-update": WARN}
    # What dpkg says in a container is of the image; without a GPU it is nothing that concerns one.
    assert codes(CONTAINER, software=TORN) == {"ok": PASS}
    assert codes("cpu-vm", software=TORN) == {"skipped": SKIP}


def test_a_torn_spark_is_sent_to_the_dashboard_and_others_are_not() -> None:
    steps = [" ".join(step.step for step in item.fix) for base in (SPARK, H200) for item in found(base, software=TORN)]
    assert ["DGX Dashboard" in text for text in steps] == [True, False]


def test_half_installed_tools_tear_nothing() -> None:
    tools = {"nvtop": "half-configured", "docker-ce": "unpacked", "podman": "half-installed", "earlyoom": "unpacked"}
    assert codes(software={"unfinished_packages": tools}) == {"ok": PASS}


def test_many_unfinished_packages_are_counted() -> None:
    (item,) = found(software={"unfinished_packages": {f"libnvidia-{letter}-580": "unpacked" for letter in "abcde"}})
    assert item.message.endswith(
        "libnvidia-a-580 (unpacked), libnvidia-b-580 (unpacked), libnvidia-c-580 (unpacked) and 2 more"
    )


@pytest.mark.parametrize("why", ["permission_denied", "not_found", "failed"])
def test_packages_that_are_not_known_are_no_pass(why: str) -> None:
    assert codes(software={"unfinished_packages": {"missing": why}}) == {"unknown": UNKNOWN}


def test_a_limited_cpu_is_told_and_no_fault() -> None:
    """eugr/spark-vllm-docker#104: below 2 GHz of 3.9."""
    assert codes(software={"cpu_maximum_mhz": 3900, "cpu_limit_mhz": 1950}) == {"cpu-limited": INFO, "ok": PASS}
    assert codes(software={"cpu_maximum_mhz": 3900, "cpu_limit_mhz": 2808}) == {"ok": PASS}
    assert codes(software={"cpu_maximum_mhz": ABSENT, "cpu_limit_mhz": ABSENT}) == {"ok": PASS}
    assert codes(H200, software={"cpu_maximum_mhz": 3900, "cpu_limit_mhz": 800}) == {"skipped": SKIP}


NEWER = {"installed_release": "OTA2.2", "newest_release": "OTA2607", "differing_percent": 3.3, "ota_check": ["{"]}


def test_a_newer_set() -> None:
    (item,) = [item for item in found(updates=NEWER) if item.status == INFO]
    assert item.code == "G17.newer-set"
    assert "OTA2607" in item.message and "OTA2.2" in item.message and "3.3 %" in item.message
    assert codes(updates={**NEWER, "installed_release": "OTA2607"}) == {"ok": PASS}
    assert codes(updates={**NEWER, "installed_release": "OTA2604-ebeta"}) == {"ok": PASS}
    assert codes(H200, updates=NEWER) == {"skipped": SKIP}
    assert codes(updates={"missing": "not_collected"}) == {"ok": PASS}


def test_what_the_update_check_says_in_other_words() -> None:
    lines = ["{", "torn-score: 0"]
    unread = {"ota_check": lines, "installed_release": ABSENT, "newest_release": ABSENT}
    (item,) = [item for item in found(updates=unread) if item.status == INFO]
    assert (item.code, item.message) == ("G17.update-check", "nvidia-spark-ota-check: torn-score: 0")
    refused = {"ota_check": {"missing": "permission_denied", "detail": "must run as root"}}
    assert codes(updates=refused) == {"update-check": INFO, "ok": PASS}
    assert codes(updates={"ota_check": ABSENT}) == {"ok": PASS}


# -- a GPU that does not answer ---------------------------------------------------------------------------------------

NEW_DRIVER, OTA = driver("580.173.02"), {"dgx_release": {"DGX_OTA_VERSION": "7.5.0"}}


def test_the_pairing_signature() -> None:
    dead = {"gpu": silent(), "driver": NEW_DRIVER}
    assert codes(**dead) == {"gsp-pairing": FAIL}
    assert codes(gpu=silent(), driver=driver("580.178.04")) == {"gsp-pairing": FAIL}
    assert codes(gpu=silent(missing="failed", detail="Unknown Error"), driver=NEW_DRIVER) == {"gsp-pairing": FAIL}


def test_one_part_less_is_no_signature() -> None:
    fine = {"ok": PASS}
    assert codes(driver=NEW_DRIVER) == fine  # the GPU answers: ahead of the OTA and no fault
    assert codes(gpu=silent(), driver=driver("580.159.03")) == fine  # the OTA's own driver
    newer = {"dgx_release": {"DGX_OTA_VERSION": "7.6.0"}}
    assert codes(gpu=silent(), driver=NEW_DRIVER, identity=newer) == fine  # an OTA that brought it
    unknown = {"dgx_release": {"DGX_OTA_VERSION": None, "DGX_SWBUILD_VERSION": None}}
    assert codes(gpu=silent(), driver=NEW_DRIVER, identity=unknown) == fine
    seen = {"gpu": {**silent(), "missing": None, "detail": None}, "identity": OTA}
    assert codes(DARK_CONTAINER, **seen, driver=NEW_DRIVER) == fine  # perhaps started without the GPU
    hung = {"missing": "timed_out", "detail": "no answer within 2 s"}
    for devices in (
        {"missing": "failed", "detail": "Driver/library version mismatch"},
        hung,
        {"missing": "permission_denied"},
    ):
        assert codes(gpu={"devices": devices}, driver=NEW_DRIVER) == fine, devices
    assert codes(gpu=silent(), driver={**NEW_DRIVER, "libcuda_version": "580.178.04"}) == fine  # before a reboot


def test_the_proprietary_module() -> None:
    """Start9Labs/start-technologies#3693."""
    closed = driver("580.173.02", kernel_module_open=False)
    assert codes(gpu=silent(), driver=closed) == {"proprietary-module": FAIL}
    assert codes(DARK_CONTAINER, driver=closed) == {"proprietary-module": FAIL}
    assert codes(driver=closed) == {"ok": PASS}  # it answers: then it is not that
    assert codes(RTX, gpu=silent(), driver=closed) == {"skipped": SKIP}  # other GPUs may have it
    (item,) = found(gpu=silent(), driver=closed)
    assert any("nvidia-driver-580-open" in step.step for step in item.fix)


UNLOADED = {"kernel_module_version": ABSENT, "kernel_module_open": ABSENT}
NO_MODULE = {
    "driver": UNLOADED,
    "gpu": silent(missing="failed", detail="Driver Not Loaded"),
    "software": {"nvidia_module_for_kernel": False},
}


@pytest.mark.parametrize("base", [SPARK, RTX, H200])
def test_a_kernel_without_the_module_on_any_machine(base: str) -> None:
    found_ = codes(base, **NO_MODULE)
    assert found_["no-module-for-kernel"] == FAIL


@pytest.mark.parametrize(
    "change",
    [
        {"software": {"nvidia_module_for_kernel": True}},
        {"software": {"nvidia_module_for_kernel": ABSENT}},  # no module folder to look into
        {"driver": {"kernel_module_version": "580.159.03"}},  # loaded from elsewhere, as driver containers do
        {"identity": {"nvidia_pci_devices": []}},  # the card was taken out
        {"driver": {"libcuda_version": ABSENT}, "software": {"packages": ABSENT}},  # no driver was ever wanted
    ],
)
def test_a_module_that_nobody_misses(change: dict[str, Any]) -> None:
    assert "no-module-for-kernel" not in codes(RTX, **merge_patch(NO_MODULE, change))


def test_the_same_kernel_without_a_silent_gpu_is_fine() -> None:
    assert codes(RTX, software={"nvidia_module_for_kernel": False}) == {"skipped": SKIP}
    assert codes(software={"nvidia_module_for_kernel": False}) == {"ok": PASS}


def test_another_machine_is_not_judged_as_a_spark() -> None:
    (item,) = found(H200, platform="gb10", identity=kernel("6.17.0-1021-nvidia"), software=TORN)
    assert item.status == SKIP


@pytest.mark.parametrize("section", ["software", "driver", "gpu", "identity", "memory", "container", "updates"])
@pytest.mark.parametrize("why", ["not_collected", "failed", "permission_denied", "timed_out", "not_found"])
def test_any_section_may_be_missing(section: str, why: str) -> None:
    statuses = set(
        codes(**{section: {**dict.fromkeys(STORIES[SPARK]["sections"].get(section, {})), "missing": why}}).values()
    )
    assert statuses and not statuses & {WARN, FAIL}
