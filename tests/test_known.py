"""Dated data and the inventory that it is keyed on. Expected values are worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from gonogo import catalogue
from gonogo.finding import HIGH, LOW, WARN
from gonogo.known import Known, findings, matching, rows_of
from gonogo.node.facts.missing import FAILED, NOT_FOUND, Missing
from gonogo.node.facts.sections.container import Container
from gonogo.node.facts.sections.driver import Driver
from gonogo.node.facts.sections.gpu import Gpu
from gonogo.node.facts.sections.identity import Identity
from gonogo.node.facts.sections.python import Distribution, Python, Torch
from gonogo.node.facts.sections.software import Software
from gonogo.platforms import inventory
from gonogo.platforms.identify import GENERIC, NONE, Platform

PROFILES = catalogue.profiles()
GB10, H200, THOR, ANY, NO_GPU = (
    *(Platform(PROFILES[key], ("by hand",), gpu_expected=True) for key in ("gb10", "h200", "thor")),
    Platform(GENERIC),
    Platform(NONE),
)


def row(**changes: Any) -> Known:
    given: dict[str, Any] = {
        **{"subject": "kernel", "range": "==6.17.0-1021", "code": "bad-kernel", "status": WARN},
        **{"text": "loses its network", "source": "forum 374275", "verified": "2026-11", **changes},
    }
    return Known(**given)


BAD = {"kernel": "6.17.0-1021-nvidia"}


def holds(item: Known, versions: dict[str, str], platform: Platform = GB10) -> bool:
    return bool(list(matching([item], versions, platform)))


# -- rows -------------------------------------------------------------------------------------------------------------


def test_a_row_becomes_a_finding_with_the_version_the_source_and_its_date() -> None:
    (found,) = findings("G17", [row(words="kernel", confidence=LOW, values={"a": "b"})], BAD, GB10)
    assert (found.code, found.status, found.confidence) == ("G17.bad-kernel", WARN, LOW)
    assert found.message == "kernel 6.17.0-1021-nvidia: loses its network"
    assert found.evidence == ("forum 374275 (2026-11)", "known for ==6.17.0-1021")
    assert found.values == {"a": "b"}


@pytest.mark.parametrize(
    ("subject", "words", "head"),
    [("kernel", "", "kernel"), ("dpkg:nvtop", "", "nvtop"), ("pip:nvgpu", "a tool", "a tool"), ("ota", "", "ota")],
)
def test_what_a_message_calls_its_subject(subject: str, words: str, head: str) -> None:
    (found,) = findings("G18", [row(subject=subject, range="*", words=words)], {subject: "1.0"}, GB10)
    assert found.message == f"{head} 1.0: loses its network"
    assert found.confidence == HIGH


def test_without_a_version_or_outside_the_range_nothing_is_said() -> None:
    assert holds(row(), BAD)
    assert not holds(row(), {})
    assert not holds(row(), {"kernel": "6.17.0-1031-nvidia"})
    assert not holds(row(), {"kernel": "nvidia"})
    assert holds(row(range="*"), {"kernel": "nvidia"})


@pytest.mark.parametrize(
    ("where", "on"),
    [
        ("", [GB10, H200, THOR, ANY, NO_GPU]),
        ("gb10", [GB10]),
        ("h200", [H200]),
        ("unified", [GB10, THOR]),  # Jetson Thor shares its memory too
        ("gb", []),
    ],
)
def test_a_row_holds_where_it_says(where: str, on: list[Platform]) -> None:
    everywhere = [GB10, H200, THOR, ANY, NO_GPU]
    assert [platform for platform in everywhere if holds(row(where=where), BAD, platform)] == on


def test_another_subject_can_make_a_row_void() -> None:
    item = row(subject="driver", range=">=580.173.02", unless={"subject": "ota", "range": ">=7.6"})
    assert holds(item, {"driver": "580.173.02", "ota": "7.5.0"})
    assert not holds(item, {"driver": "580.173.02", "ota": "7.6.0"})
    # What is not known spares nobody.
    assert holds(item, {"driver": "580.173.02"})
    assert holds(item, {"driver": "580.173.02", "ota": "unknown"})


def test_every_row_that_holds_is_told_in_the_order_of_the_file() -> None:
    rows = [row(code="first"), row(code="second", range=">=6.17"), row(code="third", range="<6")]
    assert [found.code for found in findings("G17", rows, BAD, GB10)] == ["G17.first", "G17.second"]


def test_the_rows_of_a_catalogue_entry() -> None:
    assert rows_of({}) == ()
    plain = row()._asdict()
    assert rows_of({"known": [plain]}) == (row(),)
    with pytest.raises(TypeError):
        rows_of({"known": [{**plain, "rnage": "*"}]})


def test_the_shipped_rows_hold_on_a_machine_of_their_own() -> None:
    """No row is of a form that can never hold: a version out of each one's range is told of."""
    for gotcha, entry in catalogue.gotchas().items():
        for item in rows_of(entry):
            version = next(
                (text.lstrip("=<>") for text in item.range.split(",") if text.startswith(("==", ">=", "<="))), "0.0.1"
            )
            profile = {"unified": "gb10", "": "h200"}.get(item.where, item.where)
            platform = Platform(PROFILES[profile], ("by hand",), gpu_expected=True)
            (found,) = findings(gotcha, [item], {item.subject: version}, platform)
            assert found.code == f"{gotcha}.{item.code}"


# -- the inventory ----------------------------------------------------------------------------------------------------

SITE, USER = "/opt/venv/lib/python3.12/site-packages", "/home/xxxx/.local/lib/python3.12/site-packages"


def test_everything_that_has_a_version() -> None:
    sections = {
        "identity": Identity(
            kernel_release="6.17.0-1031-nvidia",
            dgx_release={"DGX_SWBUILD_VERSION": "7.2.3", "DGX_OTA_VERSION": "7.5.0"},
            dmi={"bios_version": "5.36_0ACUM027"},
        ),
        "gpu": Gpu(driver_version="580.159.03", cuda_version="13.0"),
        "driver": Driver(kernel_module_version="580.159.03", libcuda_version="590.48.01"),
        "python": Python("python", "PATH", distributions=(Distribution("numpy", "2.3.4", SITE),)),
        "software": Software(packages={"nvtop": "3.3.2-1"}),
        "container": Container(environment={"NVIDIA_PYTORCH_VERSION": "25.11", "container": "podman"}),
    }
    assert inventory.versions(sections) == {
        "kernel": "6.17.0-1031-nvidia",
        "ota": "7.5.0",
        "bios": "5.36_0ACUM027",
        "driver": "580.159.03",
        "cuda": "13.0",
        "libcuda": "590.48.01",
        "pip:numpy": "2.3.4",
        "dpkg:nvtop": "3.3.2-1",
        "image:pytorch": "25.11",
    }


def test_the_image_as_it_was_shipped_stands_for_an_update_that_never_was() -> None:
    release = {"DGX_SWBUILD_VERSION": "7.2.3"}
    assert inventory.versions({"identity": Identity(dgx_release=release)}) == {"ota": "7.2.3"}
    assert inventory.versions({"identity": Identity(dgx_release={"DGX_NAME": "DGX Spark"})}) == {}


def test_the_driver_is_the_loaded_module_before_what_nvml_says() -> None:
    gpu, absent = Gpu(driver_version="580.159.03"), Missing(NOT_FOUND)
    assert (
        inventory.versions({"gpu": gpu, "driver": Driver(kernel_module_version="580.95.05")})["driver"] == "580.95.05"
    )
    assert inventory.versions({"gpu": gpu, "driver": Driver(kernel_module_version=absent)})["driver"] == "580.159.03"
    assert inventory.versions({"gpu": gpu})["driver"] == "580.159.03"
    assert inventory.versions({"driver": Driver(kernel_module_version="580.95.05")}) == {"driver": "580.95.05"}


def test_the_first_of_two_copies_counts_and_torch_speaks_for_itself() -> None:
    """As an import would get them: the first on the search path; torch/version.py before the folder's name."""
    python = Python(
        "python",
        "PATH",
        distributions=(
            *(Distribution("numpy", "2.3.4", USER), Distribution("numpy", "1.26.4", SITE)),
            Distribution("torch", "2.9.1", SITE),
        ),
        torch=Torch(f"{SITE}/torch", version="2.9.1+cu130"),
    )
    assert inventory.versions({"python": python}) == {"pip:numpy": "2.3.4", "pip:torch": "2.9.1+cu130"}
    silent = python._replace(torch=Torch(f"{SITE}/torch", version=Missing(FAILED)))
    assert inventory.versions({"python": silent})["pip:torch"] == "2.9.1"


def test_only_whole_names_of_image_variables_count() -> None:
    names = ("NVIDIA_VERSION", "NVIDIA_VISIBLE_DEVICES", "PYTORCH_VERSION", "NVIDIA_BUILD_ID", "NVIDIA_VLLM_VERSION")
    container = Container(environment=dict.fromkeys(names, "25.12"))
    assert inventory.versions({"container": container}) == {"image:vllm": "25.12"}


@pytest.mark.parametrize("section", ["identity", "gpu", "driver", "python", "software", "container"])
def test_a_section_that_is_missing_or_empty_says_nothing(section: str) -> None:
    empty = {
        **{"identity": Identity(), "gpu": Gpu(), "driver": Driver(), "software": Software(), "container": Container()},
        "python": Python("python", "PATH"),
    }
    assert inventory.versions({section: Missing(FAILED)}) == inventory.versions({section: empty[section]}) == {}
    assert inventory.versions({}) == {}
    # An empty text is no version.
    assert inventory.versions({"software": Software(packages={"nvtop": ""})}) == {}
