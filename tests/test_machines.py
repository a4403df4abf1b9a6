"""Every machine story is judged, and every output about it keeps its promises."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from machine_stories import Story, devices_of, load_all, merge_patch

from gonogo import catalogue, schemas
from gonogo.finding import FAIL, WARN, Finding, number, rank
from gonogo.node.facts.codec import decode
from gonogo.preflight import Preflight, judge
from gonogo.report import Style, renderer
from gonogo.units import version_parts

STORIES = load_all()
HEALTHY = [story for story in STORIES if story.healthy and story.expected.verdict == "go"]
SPARKS = [s for s in STORIES if s.expected.platform == "gb10" and s.devices() and s.request.platform is None]

#: What GB10 answers not_supported to: published GB10 figures
MEMORY = ("memory_total_bytes", "memory_free_bytes", "memory_used_bytes")
NEVER_ON_GB10 = (*MEMORY, "power_limit_watts", "clock_memory_mhz")
NOT_SUPPORTED = {"missing": "not_supported"}
LINE = re.compile(r"^(G\d+) (PASS|FAIL|WARN|INFO|SKIP|UNKNOWN): .")

stories = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)


def judged(story: Story, document: dict[str, Any] | None = None) -> Preflight:
    return judge(decode(story.document if document is None else document), story.request)


def rendered(story: Story, name: str) -> str:
    render = renderer(name)
    assert render is not None
    return render(judged(story), Style())


def told(findings: tuple[Finding, ...]) -> str:
    """The findings that say something, for a failed assertion."""
    return "\n".join(f"  {item.code} {item.status}: {item.message}" for item in findings if item.status != "SKIP")


def schema(name: str) -> Draft202012Validator:
    body = schemas.schema(name)
    assert body is not None
    return Draft202012Validator(body)


CHECK, ENV_REPORT, FACTS = schema("check"), schema("env-report"), schema("facts")


# -- the stories themselves -------------------------------------------------------------------------------------------


@stories
def test_a_story_says_where_it_is_from_and_both_what_must_and_what_must_not_be_found(story: Story) -> None:
    assert story.about and story.source and story.expected.must and story.expected.must_not


@stories
def test_facts_follow_their_schema(story: Story) -> None:
    FACTS.validate(story.document)


def test_a_gb10_never_tells_what_nvml_cannot_read_on_it() -> None:
    for story in SPARKS:
        for device in story.devices():
            assert {device[field]["missing"] for field in NEVER_ON_GB10} == {"not_supported"}, story.name


def test_merge_patches_follow_rfc_7396() -> None:
    """The example of the RFC's section 3 and three lines of its appendix A."""
    target = {"title": "Goodbye!", "author": {"givenName": "John", "familyName": "Doe"}, "tags": ["example", "sample"]}
    patch = {"title": "Hello!", "phoneNumber": "+01-123", "author": {"familyName": None}, "tags": ["example"]}
    assert merge_patch(target, patch) == {
        "title": "Hello!",
        "author": {"givenName": "John"},
        "tags": ["example"],
        "phoneNumber": "+01-123",
    }
    assert merge_patch(["a", "b"], {"a": "c", "b": None}) == {"a": "c"}
    assert merge_patch({}, {"a": {"bb": {"ccc": None}}}) == {"a": {"bb": {}}}
    assert merge_patch({"a": "b"}, ["c"]) == ["c"]


# -- the judgement ----------------------------------------------------------------------------------------------------


@stories
def test_the_machine_and_the_verdict_are_right(story: Story) -> None:
    preflight, expected = judged(story), story.expected
    assert preflight.platform.id == expected.platform, preflight.platform.evidence
    assert preflight.verdict == expected.verdict, preflight.reasons
    for text in expected.platform_evidence:
        assert any(re.search(text, line) for line in preflight.platform.evidence), preflight.platform.evidence
    for text in expected.reasons:
        assert any(re.search(text, reason) for reason in preflight.reasons), preflight.reasons
    if expected.identity is not None:
        assert preflight.platform.identity_known == (expected.identity == "known")
    assert bool(preflight.reasons) == (preflight.verdict != "go"), preflight.reasons


@stories
def test_what_must_be_found_is_found(story: Story) -> None:
    preflight = judged(story)
    lacking = [must for must in story.expected.must if not any(must.met_by(item) for item in preflight.findings)]
    assert not lacking, f"{lacking}\n{told(preflight.findings)}"


@stories
def test_what_must_not_be_found_is_not_found(story: Story) -> None:
    found = judged(story).findings
    for entry in story.expected.must_not:
        wrong = [item for item in found if entry.covers(item.code) and rank(item.status) >= rank(entry.min_status)]
        assert not wrong, told(tuple(wrong))


@stories
def test_a_warning_or_failure_has_evidence_and_a_first_step(story: Story) -> None:
    for item in judged(story).findings:
        grave = rank(item.status) >= rank(WARN)
        assert not grave or (item.evidence and item.fix), f"{item.code}: {item.message}"
        for text in (item.message, *item.evidence, *(part for step in item.fix for part in (step.step, step.undo))):
            assert "Traceback" not in text and "\n" not in text and "Missing(" not in text, text


@stories
def test_no_step_leads_into_the_next_failure(story: Story) -> None:
    """A wheel index that a step names is of a CUDA release that the driver serves and this GPU's kernels need."""
    preflight = judged(story)
    gpu, first = story.sections.get("gpu", {}), preflight.platform.profile.kernel_cuda
    serves = None if preflight.platform.assumed else gpu.get("cuda_version")
    for item in preflight.findings:
        for tag in re.findall(r"/whl/cu([0-9]+)", " ".join(step.step for step in item.fix)):
            release = (int(tag[:-1]), int(tag[-1]))
            if isinstance(serves, str):
                assert release[0] <= version_parts(serves)[0], f"{item.code}: cu{tag}, but the driver serves {serves}"
            if first:
                assert release >= version_parts(first)[:2], f"{item.code}: cu{tag}, but this GPU needs CUDA {first}"


# -- the outputs ------------------------------------------------------------------------------------------------------


@stories
def test_the_json_output_follows_its_schema(story: Story) -> None:
    body, preflight = json.loads(rendered(story, "json")), judged(story)
    CHECK.validate(body)
    assert (body["verdict"], body["platform"]["id"]) == (preflight.verdict, preflight.platform.id)
    assert body["platform"]["assumed"] == (story.request.platform is not None)
    coverage = body["coverage"]
    assert sorted([*coverage["ran"], *coverage["skipped"], *coverage["unknown"]]) == sorted(catalogue.gotchas())


@stories
def test_the_env_report_follows_its_schema(story: Story) -> None:
    body, preflight = json.loads(rendered(story, "env-report")), judged(story)
    ENV_REPORT.validate(body)
    assert body["platform"] == ("dgx-spark" if preflight.platform.id == "gb10" else "generic-nvidia")
    ready = {"go": "ready", "go-with-warnings": "ready-with-warnings", "no-go": "blocked"}
    assert body["verdict"] == ready[preflight.verdict]
    if story.expected.headroom_gb is not None:
        assert body["headroom_gb"] == story.expected.headroom_gb


@stories
def test_the_plain_output_keeps_its_ten_lines(story: Story) -> None:
    lines = rendered(story, "plain").splitlines()
    found = [LINE.match(line) for line in lines]
    assert all(found), lines
    order = [(match.group(1), match.group(2)) for match in found if match]
    assert [gotcha for gotcha, _ in order[:10]] == [f"G{n}" for n in range(1, 11)]
    assert [gotcha for gotcha, _ in order[10:]] == sorted({gotcha for gotcha, _ in order[10:]}, key=number)
    assert all(number(gotcha) > 10 and status in (WARN, FAIL) for gotcha, status in order[10:]), lines
    for gotcha, status in story.expected.plain.items():
        assert dict(order)[gotcha] == status, lines[number(gotcha) - 1]


@stories
def test_scripts_find_memory_and_temperature_at_the_head_of_their_lines(story: Story) -> None:
    lines = rendered(story, "plain").splitlines()
    if "memory" in story.sections:
        assert re.match(r"G3 [A-Z]+: free/used \(GB\): \d+\.\d \d+\.\d(\D|$)", lines[2]), lines[2]
    if story.devices() and not judged(story).platform.assumed:
        assert re.match(r"G4 [A-Z]+: \d+, \d+\.\d+ W( |$)", lines[3]), lines[3]


# -- harmless, never a warning ----------------------------------------------------------------------------------------

Change = Callable[[dict[str, Any]], None]


def on_every_gpu(values: dict[str, Any]) -> Change:
    def change(document: dict[str, Any]) -> None:
        for device in devices_of(document):
            device.update(values)

    return change


def full_load(reasons: list[str]) -> Change:
    """All GPUs at work: GB10 as healthy ones are measured, others at their limit."""

    def change(document: dict[str, Any]) -> None:
        on_every_gpu({"utilization_gpu_percent": 98, "performance_state": 0, "event_reasons_active": reasons})(document)
        for device in devices_of(document):
            spark = device["pci_device_id"] == "10de:2e12"
            device["clock_sm_mhz"] = 2411 if spark else device["clock_sm_max_mhz"] * 4 // 5
            device["power_watts"] = 96.0 if spark else device["power_limit_watts"]
            device.update({"temperature_celsius": 84, "temperature_margin_celsius": 10})

    return change


def in_section(section: str, values: dict[str, Any]) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["sections"][section].update(values)

    return change


def large_page_cache(document: dict[str, Any]) -> None:
    memory = document["sections"]["memory"]
    cached = min(81_000_000_000, memory["available_bytes"])
    memory.update({"cached_bytes": cached, "free_bytes": memory["available_bytes"] - cached})


def platform_wording(document: dict[str, Any]) -> None:
    release = document["sections"]["identity"].get("dgx_release", {})
    if "DGX_NAME" in release:
        release["DGX_PLATFORM"] = "DGX Server for KVM"


LOST = (*NEVER_ON_GB10, "mig_enabled", "display_active", "temperature_margin_celsius")
WARM = {"temperature_celsius": 67, "temperature_margin_celsius": 27, "power_watts": 16.0}  # AEON-7/vllm-dflash#1
IDLE = {"utilization_gpu_percent": 0, "performance_state": 0, "event_reasons_active": []}
#: ollama/ollama#13552 and published GB10 figures
HISTORY = {"sw_power_cap": 1369 * 10**9, "sw_thermal_slowdown": 173453251000, "hw_thermal_slowdown": 403805000}
LITTLE = {"available_bytes": 5 << 30, "free_bytes": 1 << 30, "cached_bytes": 3 << 30}

HARMLESS = {
    "full load": full_load([]),
    "software power cap at full load": full_load(["sw_power_cap"]),
    "NVML memory, limits and clocks not supported": on_every_gpu(dict.fromkeys(LOST, NOT_SUPPORTED)),
    "counters full of history, no reason active": on_every_gpu({"event_reason_nanoseconds": HISTORY}),
    "idle in P0 and warm": on_every_gpu(WARM | IDLE),
    "a large page cache": large_page_cache,
    "little available and nothing stalls": in_section("memory", LITTLE),
    "a newer toolkit": in_section("cuda", {"toolkit_version": "13.1.0"}),
    "an older toolkit": in_section("cuda", {"toolkit_version": "12.9.1"}),
    "DGX_PLATFORM speaks of KVM": platform_wording,
}


@pytest.mark.parametrize("story", HEALTHY, ids=lambda story: story.name)
@pytest.mark.parametrize("harmless", HARMLESS)
def test_what_is_harmless_is_never_a_warning(story: Story, harmless: str) -> None:
    if harmless.startswith("little") and story.request.plan.need_bytes is not None:
        pytest.skip("a plan is judged by what is available")
    document = copy.deepcopy(story.document)
    HARMLESS[harmless](document)
    FACTS.validate(document)
    preflight = judged(story, document)
    assert not [item for item in preflight.findings if rank(item.status) >= rank(WARN)], told(preflight.findings)
    assert preflight.verdict == "go", preflight.reasons


def test_there_are_healthy_machines_of_every_kind() -> None:
    assert {"gb10", "h200", "h100", "rtx-5090", "generic"} <= {story.expected.platform for story in HEALTHY}


FAILED = {"missing": "failed", "detail": "Unknown Error"}
LIMITS = {"power_limit_watts": 140.0, "clock_memory_mhz": 8533}
INSTEAD: dict[str, dict[str, Any]] = {
    "absent": {},
    "failed": dict.fromkeys(NEVER_ON_GB10, FAILED),
    "as if there were a card": {**LIMITS, **dict.fromkeys(MEMORY, 128 << 30)},
    "as N1X reports": {**LIMITS, **dict.fromkeys(MEMORY, 8128 << 20)},
}


@pytest.mark.parametrize("story", SPARKS, ids=lambda story: story.name)
@pytest.mark.parametrize("instead", INSTEAD)
def test_a_spark_is_judged_without_what_nvml_cannot_read_on_it(story: Story, instead: str) -> None:
    """Whatever stands in those fields, codes and statuses stay."""
    document = copy.deepcopy(story.document)
    for device in devices_of(document):
        for field in NEVER_ON_GB10:
            del device[field]
        device.update(INSTEAD[instead])
    changed, usual = ([(item.code, item.status) for item in judged(story, body).findings] for body in (document, None))
    assert changed == usual
