"""G11 on machines that no story tells: each side of each rule. Expected values: NVIDIA's CUDA Compatibility guide (803,
804, minor version compatibility), the banner of NGC's entrypoint, docker's and podman's documentation.
"""

from __future__ import annotations

from typing import Any

import pytest
from machine_stories import load_all, merge_patch

from gonogo.finding import Finding
from gonogo.node.facts.codec import decode
from gonogo.preflight import Request, judge

STORIES = {story.name: story.document for story in load_all()}
NOT_FOUND = {"missing": "not_found"}
DENIED = {"missing": "permission_denied"}
SILENT = {"devices": {"missing": "failed", "detail": "Driver/library version mismatch"}, "driver_version": None}
SPARK, CONTAINER, RTX = "spark-idle-2026", "spark-container-no-host-view", "rtx-5090-desktop"


def g11(base: str, patch: dict[str, Any], platform: str | None = None) -> dict[str, Finding]:
    """The findings of G11 by code, on the story ``base`` with its sections patched."""
    document = merge_patch(STORIES[base], {"sections": patch})
    found = judge(decode(document), Request(platform)).of("G11")
    assert len({item.code for item in found}) == len(found)
    return {item.code.partition(".")[2]: item for item in found}


def statuses(base: str, patch: dict[str, Any], platform: str | None = None) -> dict[str, str]:
    return {code: item.status for code, item in g11(base, patch, platform).items()}


def driver(libcuda: str, kernel: str, folder: str = "/usr/lib/x", compatible: str = "") -> dict[str, Any]:
    path = f"/usr/local/cuda-13.1/compat/lib.real/libcuda.so.{compatible}" if compatible else NOT_FOUND
    return {
        "libcuda_version": libcuda,
        "libcuda_path": f"{folder}/libcuda.so.{libcuda}",
        "kernel_module_version": kernel,
        "compatibility_library_path": path,
        "compatibility_library_version": compatible or NOT_FOUND,
    }


def image(wanted: str, cuda: str = "", **more: str) -> dict[str, Any]:
    return {"environment": {"CUDA_DRIVER_VERSION": wanted, **({"CUDA_VERSION": cuda} if cuda else {}), **more}}


COMPAT = "/usr/local/cuda-13.1/compat/lib.real"
INSIDE = STORIES[CONTAINER]["sections"]["container"]

# -- the two halves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("libcuda", "kernel", "folder", "expected"),
    [
        ("590.48.01", "580.126.09", COMPAT, {"forward-compatibility": "INFO"}),
        # The toolkit's mode "mount" puts the image's library under its usual name.
        ("590.48.01", "580.126.09", "/usr/lib/aarch64-linux-gnu", {"forward-compatibility": "INFO"}),
        # Within one branch too, as long as it is a compatibility package's.
        ("580.126.09", "580.95.05", COMPAT, {"forward-compatibility": "INFO"}),
        ("580.95.05", "580.126.09", COMPAT, {"wrong-libcuda": "FAIL"}),
        ("575.57.08", "580.126.09", "/usr/lib/aarch64-linux-gnu", {"wrong-libcuda": "FAIL"}),
        # 580.95.05 is older than 580.126.09, by number and not by letter.
        ("580.126.09", "580.126.09", "/usr/lib/aarch64-linux-gnu", {"ok": "PASS"}),
    ],
)
def test_in_a_container_that_sees_a_gpu(libcuda: str, kernel: str, folder: str, expected: dict[str, str]) -> None:
    assert statuses(CONTAINER, {"driver": driver(libcuda, kernel, folder)}) == expected


def test_no_forward_compatibility_on_a_geforce_card() -> None:
    changes = {"container": INSIDE, "driver": driver("595.58.03", "580.95.05", COMPAT, "595.58.03")}
    found = g11(RTX, {**changes, "gpu": {"driver_version": "580.95.05"}})
    assert {code: (item.status, item.confidence) for code, item in found.items()} == {
        "not-supported-here": ("FAIL", "medium")
    }
    assert statuses("h200-idle", changes) == {"forward-compatibility": "INFO"}


def test_on_the_host_a_mismatch_counts_only_when_the_gpu_is_silent() -> None:
    mismatch = driver("580.178.04", "580.173.02")
    assert statuses(SPARK, {"driver": mismatch}) == {"skipped": "SKIP"}
    found = g11(SPARK, {"driver": mismatch, "gpu": SILENT})["reboot-needed"]
    assert found.status == "FAIL" and "580.178.04" in found.message and "580.173.02" in found.message
    assert [step.step for step in found.fix][-1].endswith("sudo reboot")
    inside = g11(CONTAINER, {"driver": mismatch, "gpu": SILENT})["reboot-needed"]
    assert "reboot of the host" in inside.message and "reboot of the host" in inside.fix[-1].step
    hangs = {"missing": "timed_out", "detail": "no answer within 2 s", "devices": None, "source": None}
    assert statuses(SPARK, {"driver": mismatch, "gpu": hangs}) == {"reboot-needed": "FAIL"}
    assert statuses(SPARK, {"driver": mismatch, "gpu": None}) == {"skipped": "SKIP"}  # nobody asked


def test_a_silent_gpu_is_not_the_images_fault() -> None:
    """Error 100 or 999 after the banner: the banner is not its cause."""
    ahead = {"driver": driver("590.48.01", "580.126.09", COMPAT), "gpu": SILENT}
    assert statuses(CONTAINER, ahead) == {"unknown": "UNKNOWN"}
    newer = {"driver": driver("580.126.09", "580.126.09"), "container": image("590.48.01"), "gpu": SILENT}
    assert statuses(CONTAINER, newer) == {"unknown": "UNKNOWN"}


def test_wsl_and_other_drivers_without_a_version() -> None:
    wsl = {
        "kernel_module_version": NOT_FOUND,
        "libcuda_path": "/usr/lib/wsl/lib/libcuda.so.1.1",
        "libcuda_version": {"missing": "not_found", "detail": "its file name carries no version"},
    }
    engine = {"docker": "/mnt/wsl/docker-desktop/cli-tools/usr/bin/docker", "docker_socket": True, "runtimes": []}
    assert statuses(RTX, {"driver": wsl, "engine": engine}) == {"skipped": "SKIP"}


def test_another_machine_than_the_one_named() -> None:
    assert statuses(RTX, {"engine": {"docker": "/usr/bin/docker"}}, "gb10") == {"skipped": "SKIP"}


# -- what the image was built for -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "kernel", "serves", "wanted", "cuda", "compatible", "expected", "confidence"),
    [
        # GB10: 13.1 over 13.0 is FAIL with medium confidence, GOTCHAS.md.
        (CONTAINER, "580.95.05", "13.0", "590.48.01", "13.1.0", "", "compatibility-unavailable", "medium"),
        (CONTAINER, "580.95.05", "13.0", "590.48.01", "13.1.0", "590.48.01", "compatibility-not-set-up", "medium"),
        # A library that is not newer than the driver would not help.
        (CONTAINER, "580.95.05", "13.0", "590.48.01", "13.1.0", "580.95.05", "compatibility-unavailable", "medium"),
        (CONTAINER, "580.159.03", "13.0", "580.82.07", "13.0.1", "580.82.07", "ok", "high"),
        (CONTAINER, "580.95.05", "13.0", "580.126.09", "13.0.2", "", "ok", "high"),  # the banner compares branches
        # Others, within one CUDA major: minor version compatibility. Over a major: nothing runs.
        ("h200-idle", "580.95.05", "13.0", "590.48.01", "13.1.0", "590.48.01", "minor-version", "high"),
        ("h200-idle", "570.86.15", "12.8", "590.48.01", "13.1.0", "590.48.01", "compatibility-not-set-up", "high"),
        ("h200-idle", "570.86.15", "12.8", "590.48.01", "", "", "compatibility-unavailable", "high"),
        ("h200-idle", "535.104.05", "12.2", "570.86.15", "", "", "minor-version", "high"),
        (
            "rtx-5090-desktop",
            "570.86.15",
            "12.8",
            "580.95.05",
            "13.0.1",
            "580.95.05",
            "compatibility-unavailable",
            "high",
        ),
    ],
)
def test_an_image_for_a_newer_driver(
    base: str, kernel: str, serves: str, wanted: str, cuda: str, compatible: str, expected: str, confidence: str
) -> None:
    changes = {
        "container": {**INSIDE, **image(wanted, cuda)},
        "driver": driver(kernel, kernel, compatible=compatible),
        "gpu": {"driver_version": kernel, "cuda_version": serves},
    }
    found = g11(base, changes)
    assert {code: item.confidence for code, item in found.items()} == {expected: confidence}
    steps = " ".join(step.step for step in found[expected].fix)
    assert ("25.11-py3" in steps) == (base == CONTAINER and expected.startswith("compat"))
    assert ("LD_LIBRARY_PATH=/usr/local/cuda-13.1/compat/lib.real:" in steps) == (
        expected == "compatibility-not-set-up"
    )


def test_outside_a_container_the_variables_of_images_say_nothing() -> None:
    assert statuses(SPARK, {"container": image("590.48.01", "13.1.0")}) == {"ok": "PASS"}


def test_what_the_entrypoint_found_out_is_evidence() -> None:
    said = "System has unsupported display driver / cuda driver combination\n(CUDA_ERROR_...) cuInit()=803"
    found = g11(CONTAINER, {"container": {**INSIDE, **image("590.48.01", "13.1", _CUDA_COMPAT_STATUS=said)}})
    assert any("cuInit()=803" in line for line in found["compatibility-unavailable"].evidence)


# -- dated data -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "version", "warned"),
    [
        *((SPARK, "590.48.01", True), (SPARK, "595.58.03", True), (CONTAINER, "590.48.01", True)),
        # 610 was seen on a Spark and nobody said that it is outside validation.
        *((SPARK, "580.178.04", False), (SPARK, "610.43.02", False), ("h200-idle", "590.48.01", False)),
    ],
)
def test_host_drivers_outside_validation(base: str, version: str, warned: bool) -> None:
    found = statuses(base, {"driver": driver(version, version), "gpu": {"driver_version": version}})
    assert found == {"ok": "PASS", **({"host-driver": "WARN"} if warned else {})}


@pytest.mark.parametrize(("files", "told"), [([], True), (["/var/run/cdi/nvidia.yaml"], False), (DENIED, False)])
def test_the_toolkit_that_left_cdi_out(files: Any, told: bool) -> None:
    packages = {"packages": {"nvidia-container-toolkit": "1.19.0-1"}}
    found = statuses(SPARK, {"software": packages, "engine": {"cdi_files": files}})
    assert found == {"ok": "PASS", **({"cdi-not-generated": "INFO"} if told else {})}


# -- the engine -------------------------------------------------------------------------------------------------------

BARE = {"runtimes": [], "cdi_files": [], "hook": False}
PODMAN = {"docker": NOT_FOUND, "podman": "/usr/bin/podman", "cdi_files": [], "podman_hook": False}


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ({}, {}),
        (BARE, {"runtime-not-registered": "WARN"}),
        ({**BARE, "toolkit": NOT_FOUND}, {"runtime-not-registered": "WARN"}),
        ({**BARE, "cdi_files": ["/var/run/cdi/nvidia.yaml"]}, {}),
        ({**BARE, "default_runtime": "nvidia"}, {}),
        ({**BARE, "runtimes": ["nvidia-cdi"]}, {}),
        ({**BARE, "hook": True}, {"hook-only": "INFO"}),
        ({**BARE, "docker_socket": False}, {}),  # a client alone
        ({**BARE, "docker": NOT_FOUND}, {}),
        ({**BARE, "runtimes": DENIED}, {"unknown": "UNKNOWN"}),
        ({**BARE, "cdi_files": DENIED}, {"unknown": "UNKNOWN"}),
        ({"may_use_docker": False}, {"docker-not-allowed": "INFO"}),
        ({"docker_is_snap": True}, {"snap-docker": "WARN"}),
        (PODMAN, {"cdi-missing": "WARN"}),
        ({**PODMAN, "cdi_files": ["/etc/cdi/nvidia.yaml"]}, {}),
        ({**PODMAN, "podman_hook": True}, {}),
        ({**PODMAN, "cdi_files": DENIED}, {}),
        ({**PODMAN, "docker": "/usr/bin/docker", "runtimes": ["nvidia"]}, {}),
    ],
)
def test_engines_on_a_spark(engine: dict[str, Any], expected: dict[str, str]) -> None:
    assert statuses(SPARK, {"engine": engine}) == {"ok": "PASS", **expected}
    assert statuses(CONTAINER, {"engine": engine}) == {"ok": "PASS"}  # the host's is not seen from inside


@pytest.mark.parametrize(
    ("engine", "status"),
    [
        ({**BARE, "docker": "/usr/bin/docker", "docker_socket": True}, "INFO"),
        ({**BARE, "docker": "/usr/bin/docker", "docker_socket": True, "toolkit": "/usr/bin/nvidia-ctk"}, "WARN"),
        (PODMAN, "INFO"),
        ({**PODMAN, "toolkit": "/usr/bin/nvidia-ctk"}, "WARN"),
        ({**BARE, "docker": "/snap/bin/docker", "docker_is_snap": True}, "INFO"),
        ({"docker": "/snap/bin/docker", "docker_is_snap": True, "runtimes": ["nvidia"]}, "PASS"),
    ],
)
def test_elsewhere_the_toolkit_tells_whether_containers_are_to_get_the_gpu(engine: dict[str, Any], status: str) -> None:
    found = statuses("h200-idle", {"engine": engine})
    assert found.pop("ok") == "PASS"
    assert list(found.values()) == ([] if status == "PASS" else [status])


def test_without_an_nvidia_driver_no_engine_is_judged() -> None:
    assert statuses("rtx-5090-nouveau", {"engine": {**BARE, "docker": "/usr/bin/docker", "docker_socket": True}}) == {
        "skipped": "SKIP"
    }


def test_the_toolkit_is_installed_only_where_it_lacks() -> None:
    lacking = g11(SPARK, {"engine": {**BARE, "toolkit": NOT_FOUND}})["runtime-not-registered"]
    there = g11(SPARK, {"engine": BARE})["runtime-not-registered"]
    assert any("apt install nvidia-container-toolkit" in step.step for step in lacking.fix)
    assert not any("apt install" in step.step for step in there.fix)
    assert lacking.fix[0].impact == there.fix[0].impact == "none"
