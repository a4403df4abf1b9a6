"""Wrong calls and wrong files: one line on standard error that says what is wrong, nothing else, exit status 2.

docs/contract.md, Contract: "2 usage error or could not run. Results on stdout, everything else on stderr."
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusal import refused

VERBS = ("check", "explain", "list", "record", "schema")
FORMATS = ("text", "plain", "json", "env-report")


@pytest.mark.parametrize("verb", ["nonsense", "_output", "__init__", "check.py", "../check", "", "Check", "\x1b[31m"])
def test_unknown_verb(gonogo: Callable[..., Any], verb: str) -> None:
    refused(gonogo(verb), "unknown verb")


@pytest.mark.parametrize("verb", VERBS)
def test_unknown_option(gonogo: Callable[..., Any], verb: str) -> None:
    refused(gonogo(verb, "--nonsense"), "--nonsense" if verb != "explain" else "G2")


def test_an_option_is_not_guessed_from_its_beginning(gonogo: Callable[..., Any]) -> None:
    refused(gonogo("check", "--plat", "gb10"), "--plat")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[(option, value) for option in ("--select", "--ignore") for value in ("G99", "G1.nonsense", "GG", "G", "G0")],
        ("--select", "G1,G99"),
        ("--select", "G1.older-major.more"),
        ("--select", "1"),
        *[("--platform", value) for value in ("spark", "GB10", "", "gb10,h200")],
        *[("--format", value) for value in ("xml", "JSON", "", "__init__", "../cli", "env_report.x")],
        *[("--need", value) for value in ("-1", "0", "nan", "inf", "1e9GiB", "70XB", "", "0GiB", "70 Gi B", "GiB")],
        *[("--fail-on", value) for value in ("nonsense", "", "skip", "pass", "fail,warn")],
    ],
)
def test_bad_value(gonogo: Callable[..., Any], option: str, value: str) -> None:
    refused(gonogo("check", option, value))


def test_the_line_says_what_was_wrong(gonogo: Callable[..., Any]) -> None:
    refused(gonogo("check", "--select", "G1,G99"), "'G99'")
    refused(gonogo("check", "--platform", "spark"), "'spark'", "gb10")
    refused(gonogo("check", "--format", "xml"), "'xml'", "plain")
    refused(gonogo("check", "--need", "70XB"), "'70XB'", "70GiB")
    refused(gonogo("check", "--fail-on", "nonsense"), "'nonsense'", "never")


# -- --python ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["check", "record"])
@pytest.mark.parametrize("kind", ["missing", "empty folder", "not executable", "another program", "text", "empty"])
def test_no_python(gonogo: Callable[..., Any], tmp_path: Path, verb: str, kind: str) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a program\n")
    (tmp_path / "folder").mkdir()
    plain = tmp_path / "python"
    plain.write_text("#!/bin/sh\n")
    plain.chmod(0o644)
    program = {
        "missing": str(tmp_path / "nowhere" / "python"),
        "empty folder": str(tmp_path / "folder"),
        "not executable": str(plain),
        "another program": shutil.which("ls") or "/bin/ls",
        "text": str(text),
        "empty": "",
    }[kind]
    refused(gonogo(verb, "--python", program), "--python")


def test_executable_text_is_no_python(gonogo: Callable[..., Any], tmp_path: Path) -> None:
    text = tmp_path / "notes"
    text.write_text("not a program\n")
    text.chmod(0o755)
    refused(gonogo("check", "--python", str(text)), "no Python")


# -- --facts ----------------------------------------------------------------------------------------------------------

FACTS = '{"schema": "gonogo/facts", "schema_version": 2, "sections": '
RAW = '{"schema": "gonogo/raw", "schema_version": 1, "recording": '


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        FACTS.encode() + b'{"memory": {"total_by',
        b"\xff\xfe{\x00}\x00",
        FACTS.encode() + b'{"memory": {"missing": "\xe9"}}}',
        bytes(range(256)) * 16,
        b"null",
        b"5",
        b"[]",
        b'"gonogo/facts"',
        b"{}",
        b'{"schema": "other/facts", "schema_version": 1, "sections": {}}',
        b'{"schema": "gonogo/facts", "schema_version": 3, "sections": {}}',
        b'{"schema": "gonogo/facts", "schema_version": 1.0, "sections": {}}',
        b'{"schema": "gonogo/facts", "schema_version": true, "sections": {}}',
        b'{"schema": "gonogo/facts", "schema_version": 1}',
        b'{"schema": "gonogo/raw", "schema_version": 2, "recording": {}}',
        b'{"schema": "gonogo/raw", "schema_version": 1, "recording": {}}',
        *[
            (FACTS + sections + "}").encode()
            for sections in (
                "[]",
                '{"nonsense": {}}',
                '{"__init__": {}}',
                '{"../memory": {}}',
                '{"\\u001b[31m": {}}',
                '{"memory": []}',
                '{"memory": {"nonsense": 1}}',
                '{"memory": {"total_bytes": "1"}}',
                '{"memory": {"total_bytes": 1.5}}',
                '{"memory": {"total_bytes": true}}',
                '{"memory": {"total_bytes": null}}',
                '{"memory": {"pressure_full_avg10_percent": NaN}}',
                '{"memory": {"pressure_full_avg10_percent": 1e999}}',
                '{"memory": {"missing": "nonsense"}}',
                '{"memory": {"missing": ["failed"]}}',
                '{"python": {"version": "3.12.0"}}',
            )
        ],
    ],
    ids=lambda content: content[:70].decode("ascii", "backslashreplace"),
)
def test_no_facts(gonogo: Callable[..., Any], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "facts.json"
    path.write_bytes(content)
    refused(gonogo("check", "--facts", str(path)), "facts.json")
    with path.open("rb") as file:
        refused(gonogo("check", "--facts", "-", stdin=file))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        FACTS + '{"memory": ' + "[" * 500 + "]" * 500 + "}}",
        FACTS + '{"memory": {"total_bytes": ' + "9" * 100_000 + "}}}",
        RAW + '{"files": {}, "commands": {"x": ' + "[" * 900 + "]" * 900 + '}, "devices": {}, "environment": {}}}',
    ],
    ids=["brackets", "braces", "deep value", "many digits", "deep raw"],
)
def test_hostile_nesting_and_digits(gonogo: Callable[..., Any], tmp_path: Path, text: str) -> None:
    path = tmp_path / "facts.json"
    path.write_text(text)
    refused(gonogo("check", "--facts", str(path)))


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize(
    "section",
    [
        {"memory": {"total_bytes": 10**400, "available_bytes": 10**400}},
        {"memory": {"total_bytes": 1, "available_bytes": 1, "pressure_full_avg10_percent": 10**400}},
    ],
    ids=["as a whole number", "as a fraction"],
)
def test_a_number_beyond_floating_point(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str], section: Any, output_format: str
) -> None:
    # A whole number may be judged or refused; what it may not do is end the program.
    completed = gonogo("check", "--facts", written(spark(**section)), "--format", output_format)
    assert "Traceback" not in completed.stderr
    if completed.returncode == 2:
        refused(completed)
    else:
        assert completed.stdout


def test_a_facts_file_that_is_too_large(gonogo: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    with path.open("wb") as file:
        file.truncate(65 << 20)  # sparse: takes no room on the disk
    refused(gonogo("check", "--facts", str(path)), "64 MiB")


@pytest.mark.parametrize("path", ["nowhere.json", "nowhere/facts.json", ".", "/dev/null", "/", "x" * 300, ""])
def test_no_facts_file(gonogo: Callable[..., Any], path: str) -> None:
    # An empty name is what an unset variable in a script gives: it must not mean this machine.
    refused(gonogo("check", "--facts", path))


def test_facts_and_python_exclude_each_other(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    refused(gonogo("check", "--facts", written(spark()), "--python", "python3"), "--facts", "--python")


def test_facts_are_json_only(gonogo: Callable[..., Any], spark: Callable[..., Any], tmp_path: Path) -> None:
    # A byte-order mark is what Windows editors add: it is read, not refused.
    path = tmp_path / "facts.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(spark()).encode())
    assert gonogo("check", "--facts", str(path)).returncode == 0
    path.write_bytes(json.dumps(spark()).encode("utf-16"))
    refused(gonogo("check", "--facts", str(path)), "UTF-8")


# -- what comes from a file is never echoed raw -----------------------------------------------------------------------

ESCAPES = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202e\r\n\x7f"
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


@pytest.mark.parametrize("options", [("--format", name) for name in FORMATS] + [("-v",), ("--format", "plain", "-v")])
def test_escapes_in_facts_are_not_echoed(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str], options: tuple[str, ...]
) -> None:
    document = spark(
        python={"executable": f"/opt/{ESCAPES}/python", "origin": ESCAPES, "noise": ESCAPES, "version": ESCAPES},
        container={"markers": [ESCAPES]},
        driver={"missing": "failed", "detail": ESCAPES},
    )
    device = document["sections"]["gpu"]["devices"][0]
    device.update(name=f"NVIDIA {ESCAPES}", pci_device_id={"missing": "failed"}, compute_capability="9.9" + ESCAPES)
    document["sections"]["identity"]["nvidia_pci_devices"] = []
    document["collectors"] = [{"name": ESCAPES, "seconds": 0.1, "outcome": ESCAPES}]
    completed = gonogo("check", "--facts", written(document), *options)
    assert "Traceback" not in completed.stderr
    assert not UNSAFE.search(completed.stdout)
    assert not UNSAFE.search(completed.stderr)
    assert "\\x1b[31m" in completed.stdout or "\\u001b[31m" in completed.stdout


def test_escapes_in_an_error_are_not_echoed(gonogo: Callable[..., Any]) -> None:
    refused(gonogo("check", "--facts", f"/{ESCAPES}.json"))
    refused(gonogo("check", "--platform", ESCAPES))
    refused(gonogo("check", "--python", f"/{ESCAPES}/python"))
    refused(gonogo("explain", ESCAPES))
    refused(gonogo("check", ESCAPES))
    refused(gonogo(ESCAPES))


def test_arguments_that_are_no_text(gonogo: Callable[..., Any]) -> None:
    broken = "G\udcff"  # the byte 0xff on the command line
    refused(gonogo("check", "--select", broken))
    refused(gonogo("check", "--facts", broken))
    refused(gonogo("explain", broken))
    refused(gonogo(broken))
