"""``gonogo check``: exit statuses, what is selected, how plain and JSON put it. Expectations: docs/contract.md."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

THERMAL = {"event_reasons_active": ["sw_thermal_slowdown"]}
NO_READING = {"temperature_celsius": {"missing": "failed"}, "power_watts": {"missing": "failed"}}
CPU_ONLY = {"folder": "/opt/training/torch", "version": "2.9.1", "cuda": {"missing": "not_found"}}


def of_kind(kind: str, spark: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """A Spark whose worst finding is ``kind``; "no GPU" is a no-go without any finding at all."""
    document = spark()
    device = document["sections"]["gpu"]["devices"][0]
    if kind == "unknown":
        device.update(NO_READING)
    elif kind == "warn":
        device.update(THERMAL)
    elif kind == "fail":
        document["sections"]["python"]["torch"] = CPU_ONLY
    elif kind == "no GPU":
        document["sections"]["gpu"]["devices"] = []
    return document


@pytest.mark.parametrize(
    ("kind", "verdict", "statuses"),
    [
        # --fail-on:   default fail  warn  unknown  info  never
        ("info", "go", (0, 0, 0, 0, 1, 0)),
        ("unknown", "go", (0, 0, 0, 1, 1, 0)),
        ("warn", "go-with-warnings", (0, 0, 1, 1, 1, 0)),
        ("fail", "no-go", (1, 1, 1, 1, 1, 0)),
        ("no GPU", "no-go", (1, 1, 1, 1, 1, 0)),
    ],
)
def test_exit_status(
    gonogo: Callable[..., Any],
    spark: Callable[..., Any],
    written: Callable[..., str],
    kind: str,
    verdict: str,
    statuses: tuple[int, ...],
) -> None:
    path = written(of_kind(kind, spark))
    completed = gonogo("check", "--facts", path, "--format", "json")
    assert json.loads(completed.stdout)["verdict"] == verdict
    assert completed.returncode == statuses[0]
    for limit, expected in zip(("fail", "warn", "unknown", "info", "never"), statuses[1:], strict=True):
        for spelled in (limit, limit.upper()):
            assert gonogo("check", "--facts", path, "--fail-on", spelled).returncode == expected, spelled


def test_no_training_environment_is_a_warning_and_no_finding(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    # The usual Spark host has no torch: training runs in a container.
    path = written(spark(python={"torch": {"missing": "not_found"}, "distributions": []}))
    completed = gonogo("check", "--facts", path, "--format", "json", "--fail-on", "warn")
    result = json.loads(completed.stdout)
    assert result["verdict"] == "go-with-warnings"
    assert any("no training environment" in reason for reason in result["reasons"])
    assert completed.returncode == 0


@pytest.mark.parametrize("reason", ["timed_out", "failed", "permission_denied", "not_found"])
def test_a_spark_whose_gpu_does_not_answer_is_no_go(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str], reason: str
) -> None:
    document = spark()
    for gpu in ({"missing": reason}, {"source": "nvml", "devices": {"missing": reason}}):
        document["sections"]["gpu"] = gpu
        completed = gonogo("check", "--facts", written(document), "--format", "json")
        result = json.loads(completed.stdout)
        assert (completed.returncode, result["verdict"], result["platform"]["id"]) == (1, "no-go", "gb10")
        assert {item["status"] for item in result["findings"] if item["gotcha"] == "G4"} == {"UNKNOWN"}


def test_a_gpu_that_answers_nothing_at_all_is_judged(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    # "GPU is lost": NVML counts it and every question about it fails; no PCI tree either (WSL, some containers).
    lost = {"missing": "failed", "detail": "GPU is lost"}
    names = ("name", "pci_device_id", "compute_capability", "temperature_celsius", "power_watts")
    document = spark(identity={"nvidia_pci_devices": {"missing": "not_found"}})
    document["sections"]["gpu"]["devices"] = [{"device_index": 0, **dict.fromkeys(names, lost)}]
    completed = gonogo("check", "--facts", written(document), "--format", "json")
    assert "Traceback" not in completed.stderr
    assert json.loads(completed.stdout)["platform"]["id"] == "generic"


def test_a_command_holds_no_prose(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    # A torch whose version file is broken: "torch==of unknown version" is nothing to paste into a shell.
    torch = {**CPU_ONLY, "version": {"missing": "failed"}}
    completed = gonogo("check", "--facts", written(spark(python={"torch": torch})), "--format", "json")
    steps = [step for item in json.loads(completed.stdout)["findings"] for step in item["fix"]]
    for word in (word for step in steps for word in (step["step"] + " " + step["undo"]).split()):
        assert "==" not in word or re.fullmatch(r"[a-z-]+==[0-9][0-9a-z.+]*", word), word


# -- selecting --------------------------------------------------------------------------------------------------------


def selected(completed: Any) -> set[str]:
    return {item["code"] for item in json.loads(completed.stdout)["findings"]}


def test_g1_is_not_g10(gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]) -> None:
    path = written(spark())
    everything = selected(gonogo("check", "--facts", path, "--format", "json"))
    assert {code.partition(".")[0] for code in everything} == {f"G{number}" for number in range(1, 22)}
    only = selected(gonogo("check", "--facts", path, "--format", "json", "--select", "G1"))
    assert only == {code for code in everything if code.startswith("G1.")}
    without = selected(gonogo("check", "--facts", path, "--format", "json", "--ignore", "g1"))
    assert without == everything - only


def test_several_selectors_and_codes(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    path = written(spark(memory={"cached_bytes": 60 << 30, "shared_bytes": 0}))

    def run(*options: str) -> set[str]:
        return selected(gonogo("check", "--facts", path, "--format", "json", *options))

    assert {code.partition(".")[0] for code in run("--select", "G1,G3", "--select", " g12 ,")} == {"G1", "G3", "G12"}
    assert run("--select", "G3") == {"G3.headroom", "G3.page-cache"}
    assert run("--select", "g3.Page-Cache") == {"G3.page-cache"}
    assert run("--select", "G3", "--ignore", "G3.page-cache") == {"G3.headroom"}
    assert run("--select", "G3", "--ignore", "G3") == set()


def test_what_is_not_selected_changes_no_verdict(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    path = written(of_kind("fail", spark))
    assert gonogo("check", "--facts", path).returncode == 1
    assert gonogo("check", "--facts", path, "--ignore", "G12").returncode == 0
    assert gonogo("check", "--facts", path, "--select", "G3,G4").returncode == 0
    assert gonogo("check", "--facts", path, "--select", "G12.cpu-only").returncode == 1


def test_coverage_names_every_gotcha(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    # SKIP is also what was not asked for.
    path = written(of_kind("unknown", spark))
    for options in ((), ("--select", "G3,G4")):
        completed = gonogo("check", "--facts", path, "--format", "json", *options)
        coverage = json.loads(completed.stdout)["coverage"]
        named = [*coverage["ran"], *coverage["skipped"], *coverage["unknown"]]
        assert sorted(named) == sorted(f"G{number}" for number in range(1, 22)), options
        assert "G3" in coverage["ran"]
        assert coverage["unknown"] == ["G4"]


# -- plain: the grammar that other tools parse ------------------------------------------------------------------------

LINE = re.compile(r"(G[1-9][0-9]?) (PASS|FAIL|WARN|INFO|SKIP|UNKNOWN): [^\x00-\x1f]+")


def lines_of(completed: Any) -> list[tuple[str, str]]:
    """(gotcha, status) of each line; every line must be of the grammar."""
    found = []
    for line in completed.stdout.splitlines():
        match = LINE.fullmatch(line)
        assert match, line
        found.append((match.group(1), match.group(2)))
    return found


TEN = [f"G{number}" for number in range(1, 11)]


@pytest.mark.parametrize("options", [(), ("--select", "G3"), ("--ignore", "G3,G4"), ("--select", "G12")])
def test_plain_is_ten_lines(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str], options: tuple[str, ...]
) -> None:
    completed = gonogo("check", "--facts", written(spark()), "--format", "plain", *options)
    assert [gotcha for gotcha, _ in lines_of(completed)] == TEN
    if options == ("--select", "G3"):
        unselected = [line for line in completed.stdout.splitlines() if not line.startswith("G3 ")]
        assert unselected == [f"{gotcha} SKIP: not selected" for gotcha in TEN if gotcha != "G3"]


def test_plain_adds_a_line_beyond_ten_for_what_is_wrong(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    path = written(of_kind("fail", spark))
    assert lines_of(gonogo("check", "--facts", path, "--format", "plain"))[10:] == [("G12", "FAIL")]
    verbose = lines_of(gonogo("check", "--facts", path, "--format", "plain", "-v"))
    assert [gotcha for gotcha, _ in verbose if int(gotcha[1:]) > 10] == [f"G{number}" for number in range(11, 22)]


def test_plain_gives_the_worst_of_each_and_counts_the_others(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    path = written(spark(memory={"cached_bytes": 60 << 30, "shared_bytes": 0}))
    line = gonogo("check", "--facts", path, "--format", "plain").stdout.splitlines()[2]
    # MemAvailable, and MemTotal less it, in GiB with one decimal: 100 of 121.
    assert line.startswith("G3 INFO: free/used (GB): 100.0 21.0")
    assert line.endswith("(+1 more)")
    verbose = lines_of(gonogo("check", "--facts", path, "--format", "plain", "-v"))
    assert [row for row in verbose if row[0] == "G3"] == [("G3", "INFO"), ("G3", "INFO")]


@pytest.mark.parametrize(
    ("memory", "status"),
    [
        ({"pressure_full_avg10_percent": 5.0}, "FAIL"),
        ({"pressure_full_avg10_percent": 0.5}, "WARN"),
        ({"swap_total_bytes": 16 << 30, "swap_free_bytes": 3 << 30, "pressure_some_avg10_percent": 9.0}, "WARN"),
    ],
)
def test_the_g3_line_begins_with_the_reading_whatever_is_wrong(
    gonogo: Callable[..., Any],
    spark: Callable[..., Any],
    written: Callable[..., str],
    memory: dict[str, Any],
    status: str,
) -> None:
    document = spark(memory=memory)
    document["sections"]["gpu"]["devices"][0]["processes"] = [{"pid": 7, "kind": "compute"}]
    line = gonogo("check", "--facts", written(document), "--format", "plain").stdout.splitlines()[2]
    assert line.startswith(f"G3 {status}: free/used (GB): 100.0 21.0")


def test_the_g4_line_begins_with_temperature_and_power(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    line = gonogo("check", "--facts", written(spark()), "--format", "plain").stdout.splitlines()[3]
    assert re.match(r"G4 INFO: 41, 4\.20? W", line)


# -- --need -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("need", "status", "exit_status"),
    [
        # 100 GiB can be allocated, 8 GiB of it are to stay free.
        ("92GiB", "PASS", 0),
        ("92.1GiB", "WARN", 0),
        ("100GiB", "WARN", 0),
        ("107GB", "WARN", 0),  # 99.65 GiB
        ("107.5GB", "FAIL", 1),  # 100.1 GiB
        ("101G", "FAIL", 1),
    ],
)
def test_need(
    gonogo: Callable[..., Any],
    spark: Callable[..., Any],
    written: Callable[..., str],
    need: str,
    status: str,
    exit_status: int,
) -> None:
    completed = gonogo("check", "--facts", written(spark()), "--format", "plain", "--need", need)
    assert completed.returncode == exit_status
    assert dict(lines_of(completed))["G3"] == status
