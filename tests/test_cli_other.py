"""The other verbs: list, explain, schema, record; help, version; every output against its published schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import gonogo as package
from gonogo import catalogue, schemas

GOLDEN_FACTS = str(Path(__file__).parent / "golden" / "facts.json")
GOTCHAS = [f"G{number}" for number in range(1, 22)]
VERBS = ["check", "diagnose", "explain", "list", "record", "schema", "skill"]


def valid(document: Any, schema: str) -> None:
    jsonschema.Draft202012Validator(schemas.schema(schema) or {}).validate(document)


# -- help, version, nothing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("-h",), ("--help",), ("help",)])
def test_help_lists_every_verb(gonogo: Callable[..., Any], arguments: tuple[str, ...]) -> None:
    completed = gonogo(*arguments)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert re.findall(r"^  ([a-z]+) ", completed.stdout, re.MULTILINE) == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb(gonogo: Callable[..., Any], verb: str) -> None:
    for option in ("-h", "--help"):
        completed = gonogo(verb, option)
        assert (completed.returncode, completed.stderr) == (0, "")
        assert completed.stdout.startswith(f"usage: gonogo {verb}")


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version(gonogo: Callable[..., Any], option: str) -> None:
    completed = gonogo(option)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout == f"gonogo {package.__version__}\n"


def test_without_arguments_usage_is_an_error(gonogo: Callable[..., Any]) -> None:
    # No result, so nothing on standard output: a script that forgot the verb must not take this for one.
    completed = gonogo()
    assert completed.returncode == 2
    assert "usage: gonogo VERB" in completed.stderr
    assert completed.stdout == ""


# -- list -------------------------------------------------------------------------------------------------------------


def test_list(gonogo: Callable[..., Any]) -> None:
    completed = gonogo("list")
    assert (completed.returncode, completed.stderr) == (0, "")
    rows = [line.split(maxsplit=1) for line in completed.stdout.splitlines()]
    assert [row[0] for row in rows] == GOTCHAS
    assert all(len(row) == 2 for row in rows)


def test_list_with_codes(gonogo: Callable[..., Any]) -> None:
    lines = gonogo("list", "--codes").stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == GOTCHAS
    codes = [line.split()[0] for line in lines if line.startswith(" ")]
    assert sorted(codes) == sorted(catalogue.codes())
    # A code stands under its own gotcha.
    current = ""
    for line in lines:
        word = line.split()[0]
        if line.startswith(" "):
            assert word.startswith(current + ".")
        else:
            current = word


def test_list_as_json(gonogo: Callable[..., Any]) -> None:
    rows = json.loads(gonogo("list", "--format", "json").stdout)
    assert [row["gotcha"] for row in rows] == GOTCHAS
    assert {code for row in rows for code in row["codes"]} == catalogue.codes()
    for row in rows:
        assert set(row) == {"gotcha", "title", "judged", "codes", "verified"}
        assert isinstance(row["judged"], bool)
        assert re.fullmatch(r"20[0-9]{2}-[01][0-9]", row["verified"])


# -- explain ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gotcha", GOTCHAS)
def test_explain(gonogo: Callable[..., Any], gotcha: str) -> None:
    completed = gonogo("explain", gotcha.lower())
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout.startswith(f"{gotcha}  {catalogue.gotchas()[gotcha]['title']}\n")
    words = " ".join(completed.stdout.split())
    for part in ("symptom", "cause", "check", "fix", "claim", "evidence", "not_a_fault"):
        # Nothing of the story is lost in the wrapping.
        assert " ".join(catalogue.gotchas()[gotcha].get(part, "").split()) in words, part
    for source in catalogue.gotchas()[gotcha]["sources"]:
        assert source in completed.stdout


def test_explain_every_code(gonogo: Callable[..., Any]) -> None:
    codes = sorted(catalogue.codes())
    completed = gonogo("explain", *codes)
    assert completed.returncode == 0
    for code in codes:
        gotcha, _, name = code.partition(".")
        assert f"  {code}: {catalogue.gotchas()[gotcha]['code'][name]['title']}" in completed.stdout


def test_explain_one_code_alone(gonogo: Callable[..., Any]) -> None:
    text = gonogo("explain", "g1.Older-Major").stdout
    assert "G1.older-major" in text
    assert "G1.unresolved-library" not in text
    assert "[reversible; undo: " in text


@pytest.mark.parametrize("word", ["G22", "G0", "G", "22", "G1.nonsense", "G1.ok.more", "nonsense", "", "G01"])
def test_explain_what_does_not_exist(gonogo: Callable[..., Any], word: str) -> None:
    for arguments in ((word,), ("G1", word)):
        completed = gonogo("explain", *arguments)
        assert (completed.returncode, completed.stdout) == (2, "")
        assert completed.stderr.count("\n") == 1


def test_every_code_that_a_check_shows_can_be_explained(gonogo: Callable[..., Any]) -> None:
    # -v prints codes such as G12.ok, and whoever reads one asks what it means.
    findings = json.loads(gonogo("check", "--facts", GOLDEN_FACTS, "--format", "json").stdout)["findings"]
    for code in sorted({item["code"] for item in findings}):
        assert gonogo("explain", code).returncode == 0, code


# -- schema -----------------------------------------------------------------------------------------------------------


def test_schemas_are_schemas(gonogo: Callable[..., Any]) -> None:
    names = gonogo("schema").stdout.split()
    assert names == ["check", "diagnose", "env-report", "facts", "finding", "list", "raw"]
    for name in names:
        completed = gonogo("schema", name)
        assert (completed.returncode, completed.stderr) == (0, "")
        schema = json.loads(completed.stdout)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema == schemas.schema(name)


def test_a_schema_is_strict() -> None:
    # One that lets every object pass would make the tests below worthless.
    for name in schemas.names():
        schema = schemas.schema(name) or {}
        with pytest.raises(jsonschema.ValidationError):
            valid({}, name)
        assert schema.get("items", schema)["additionalProperties"] is False


def test_a_finding_is_the_same_in_both_schemas() -> None:
    alone, inside = schemas.schema("finding") or {}, (schemas.schema("check") or {})["$defs"]["finding"]
    assert {key: value for key, value in alone.items() if key not in ("$schema", "title")} == inside


@pytest.mark.parametrize("name", ["nonsense", "", "__init__", "check.json", "../schemas/check", "Check"])
def test_a_schema_that_does_not_exist(gonogo: Callable[..., Any], name: str) -> None:
    completed = gonogo("schema", name)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr.count("\n") == 1


def test_outputs_are_what_their_schemas_say(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    nothing = {"schema": "gonogo/facts", "schema_version": 1, "sections": {}}
    dead = spark(gpu={"devices": {"missing": "timed_out"}}, memory=None, python=None)
    paths = [GOLDEN_FACTS, *(written(document) for document in (spark(), dead, nothing))]
    for source in (*(("--facts", path) for path in paths), (), ("--platform", "h200")):
        for options in ((), ("-v",), ("--select", "G3")):
            completed = gonogo("check", *source, "--format", "json", *options)
            result = json.loads(completed.stdout)
            valid(result, "check")
            for finding in result["findings"]:
                valid(finding, "finding")
        valid(json.loads(gonogo("check", *source, "--format", "env-report").stdout), "env-report")


def test_records_are_what_their_schemas_say(gonogo: Callable[..., Any], environment: Callable[..., Path]) -> None:
    for variables in ({}, {"VIRTUAL_ENV": str(environment())}, {"PATH": None}):
        valid(json.loads(gonogo("record", env=variables).stdout), "facts")
        valid(json.loads(gonogo("record", "--raw", env=variables).stdout), "raw")
    valid(json.loads(Path(GOLDEN_FACTS).read_text(encoding="utf-8")), "facts")


# -- env-report -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "headroom_gb"),
    [
        # (MemAvailable + SwapFree - 8 GiB) / 10^9, by hand: 92 GiB, 93 GiB.
        ({"available_bytes": 100 << 30, "swap_free_bytes": 0}, 98.8),
        ({"available_bytes": 100 << 30, "swap_free_bytes": 1 << 30}, 99.9),
        ({"available_bytes": 5 << 30, "swap_free_bytes": 0}, 0),
        # With huge pages set up only the free ones count (gonogo explain G3): 20 GiB less 8.
        ({"huge_pages_total": 20480, "huge_pages_free": 10240, "huge_page_size_bytes": 2 << 20}, 12.9),
        (None, None),
    ],
)
def test_headroom_on_a_spark(
    gonogo: Callable[..., Any], spark: Any, written: Any, memory: dict[str, Any] | None, headroom_gb: float | None
) -> None:
    completed = gonogo("check", "--facts", written(spark(memory=memory)), "--format", "env-report")
    report = json.loads(completed.stdout)
    assert (report["platform"], report["headroom_gb"]) == ("dgx-spark", headroom_gb)
    assert list(report["checks"]) == GOTCHAS[:10]


def test_headroom_on_a_discrete_gpu(gonogo: Callable[..., Any], spark: Any, written: Any) -> None:
    document = spark(identity={"nvidia_pci_devices": []})
    document["sections"]["gpu"]["devices"] = [
        {
            "device_index": 0,
            "name": "NVIDIA H200",
            "pci_device_id": "10de:2335",
            "compute_capability": "9.0",
            "memory_total_bytes": 150_000_000_000,
            "memory_free_bytes": 140_200_000_000,
        }
    ]
    report = json.loads(gonogo("check", "--facts", written(document), "--format", "env-report").stdout)
    assert (report["platform"], report["headroom_gb"]) == ("generic-nvidia", 140.2)


def test_env_report_says_why_and_never_more_than_ten(gonogo: Callable[..., Any], spark: Any, written: Any) -> None:
    torch = {"folder": "/x/torch", "version": "2.9.1", "cuda": {"missing": "not_found"}}
    path = written(spark(python={"torch": torch}))
    report = json.loads(gonogo("check", "--facts", path, "--format", "env-report").stdout)
    assert report["verdict"] == "blocked"
    assert any(reason.startswith("G12: ") for reason in report["reasons"])
    assert "G12" not in report["checks"]
    only = json.loads(gonogo("check", "--facts", path, "--format", "env-report", "--select", "G3").stdout)
    assert only["verdict"] == "ready"
    assert {value for key, value in only["checks"].items() if key != "G3"} == {"skip: not selected"}
