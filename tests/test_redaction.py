"""What is private is overwritten, character by character; what is a version stays.

Expected texts are written by hand. Addresses are of the ranges set aside for documentation (RFC 5737, 3849, 7042).
"""

from __future__ import annotations

import base64
import json
import os
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gonogo.node.facts import redaction
from gonogo.node.facts.redaction import COMMON_NAMES, Redactor

REDACTOR = Redactor(
    users=["alicexyz", "j.d+e"],
    hosts=["spark-4d5e", "spark-4d5e.lan"],
    homes=["/data/people/bobuvw/", "/home/alicexyz"],
)

UUID = "5b0d6f2e-1234-5678-9abc-def012345678"
HEX64 = "0123456789abcdef" * 4

#: Text to what is left of it. Where both are the same there is nothing private in it.
CASES = {
    # homes and names
    "/home/alicexyz/venv": "/home/xxxxxxxx/venv",
    "/home/somebody/venv/bin:/usr/bin": "/home/xxxxxxxx/venv/bin:/usr/bin",
    "/Users/somebody/x": "/Users/xxxxxxxx/x",
    "/home/zoë's": "/home/xxx's",
    "/data/people/bobuvw/venv": "/data/people/xxxxxx/venv",
    "/data/people/bobuvw2/venv": "/data/people/bobuvw2/venv",
    "/scratch/alicexyz/run-alicexyz.log": "/scratch/xxxxxxxx/run-xxxxxxxx.log",
    "by j.d+e, not jxd+e": "by xxxxx, not jxd+e",
    "malicexyz": "malicexyz",
    "on spark-4d5e.lan and spark-4d5e": "on xxxxxxxxxxxxxx and xxxxxxxxxx",
    "/root/venv /home": "/root/venv /home",
    # tokens
    "HF_TOKEN=hf_abcdefghijklmnopqrst": "HF_TOKEN=" + "x" * 23,
    "ghp_abcdefghijkl nvapi-abcdefghijkl": "x" * 16 + " " + "x" * 18,
    "Authorization: Bearer abc.def-ghi": "Authorization: Bearer " + "x" * 11,
    "https://me:secret@example.org/simple": "https://xx:xxxxxx@example.org/simple",
    "sk-short task-list-of-many-words": "sk-short task-list-of-many-words",
    # unique ids
    f"id {UUID}.": f"id {'x' * 36}.",
    f"GPU-{UUID}": f"GPU-{'x' * 36}",
    f"MIG-{UUID}": f"MIG-{'x' * 36}",
    f"/kubepods/burstable/pod{UUID}/{HEX64}": f"/kubepods/burstable/pod{'x' * 36}/{'x' * 64}",
    f"/docker/{HEX64}": f"/docker/{'x' * 64}",
    f"docker-{HEX64}.scope": f"docker-{'x' * 64}.scope",
    # addresses
    "at 192.0.2.17": "at xxx.x.x.xx",
    "192.0.2.17:8080, 198.51.100.0/24": "xxx.x.x.xx:8080, xxx.xx.xxx.x/24",
    "It listens on 192.0.2.17.": "It listens on xxx.x.x.xx.",
    "192.0.2.1-192.0.2.9": "xxx.x.x.x-xxx.x.x.x",
    "127.0.0.1 0.0.0.0 255.255.255.255": "127.0.0.1 0.0.0.0 255.255.255.255",
    "256.1.1.1": "256.1.1.1",
    "00:00:5e:00:53:af": "xx:xx:xx:xx:xx:xx",
    "fe80::1": "xxxx::x",
    "2001:db8:85a3:0:0:8a2e:370:7334": "xxxx:xxx:xxxx:x:x:xxxx:xxx:xxxx",
    "2001:db8:85a3::7334": "xxxx:xxx:xxxx::xxxx",
    "2001:db8::1": "xxxx:xxx::x",
    "fd00::1": "xxxx::x",
    # versions, times and PCI addresses are nobody's
    "nvidia_cublas-13.1.0.3.dist-info": "nvidia_cublas-13.1.0.3.dist-info",
    "libcublas.so.13.1.0.3": "libcublas.so.13.1.0.3",
    "nvidia-cublas==13.1.0.3": "nvidia-cublas==13.1.0.3",
    "nvidia-cublas == 13.1.0.3": "nvidia-cublas == 13.1.0.3",
    "0000000F:01:00.0 000f:01:00.0": "0000000F:01:00.0 000f:01:00.0",
    "2026-01-07 22:33:56": "2026-01-07 22:33:56",
    "580.126.09 6.17.0-1014-nvidia": "580.126.09 6.17.0-1014-nvidia",
    "std::vector::begin": "std::vector::begin",
}


@pytest.mark.parametrize("text", CASES)
def test_what_is_left(text: str) -> None:
    left = REDACTOR.text(text)
    assert left == CASES[text]
    assert len(left) == len(text)


def test_names_that_are_everybodys_stay() -> None:
    everybody = Redactor(users=COMMON_NAMES, hosts=["spark", "Ubuntu", "vm"])
    text = "root nvidia /usr/lib/python3 torch ubuntu Ubuntu spark"
    assert everybody.text(text) == text
    # A name of two letters would be found everywhere; below /home it goes all the same.
    assert Redactor(users=["me"]).text("me /home/me") == "me /home/xx"


def test_versions_keep_their_four_numbers() -> None:
    data = {
        "version": "13.1.0.3",
        "driver_version": "13.1.0.3",
        "cuda_version": "13.1.0.3",
        "toolkit_version": "13.1.0.3",
        "tool_version": "13.1.0.3",
        "constraints": {"nvidia-cublas": "13.1.0.3"},
        "detail": "at 192.0.2.17",
        "list": ["192.0.2.17", 5, None, True, 1.5],
    }
    left = REDACTOR.redact(data)
    assert {**left, "detail": "", "list": []} == {**data, "detail": "", "list": []}
    assert (left["detail"], left["list"]) == ("at xxx.x.x.xx", ["xxx.x.x.xx", 5, None, True, 1.5])


def test_keys_are_redacted_as_values_are() -> None:
    assert REDACTOR.redact({"/home/alicexyz/a": {"b": "/home/alicexyz"}}) == {
        "/home/xxxxxxxx/a": {"b": "/home/xxxxxxxx"}
    }


def test_binary_keeps_its_length_and_the_rest_of_its_bytes() -> None:
    content = b"\x7f\x00\xff\0/home/alicexyz/lib/libcudart.so.13\0/opt/lib/libcudart.so.13.1.0.3\0\xfe"
    left = REDACTOR.redact({"base64": base64.b64encode(content).decode()})
    assert base64.b64decode(left["base64"]) == content.replace(b"alicexyz", b"xxxxxxxx")


@pytest.mark.parametrize("value", ["1.0", "!", "é", "\ud800", 5, None, ["x"], {"a": "b"}], ids=repr)
def test_a_mapping_whose_only_key_is_base64_need_not_be_binary(value: Any) -> None:
    # A constraint file may pin a distribution of that name.
    assert REDACTOR.redact({"constraints": {"base64": value}}) == {"constraints": {"base64": value}}


json_ready = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(codec=None), max_size=20)),
        st.lists(st.sampled_from([*CASES, " ", "/", ":", "-", ".", "x", "a", "1", "\0", "\n"]), max_size=4).map(
            "".join
        ),
        st.text("0123456789abcdefx:.-/@", max_size=70),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["base64", "text", "version", *list(CASES)[:4]]), inner, max_size=3)
    ),
    max_leaves=8,
)


def _shape(data: Any) -> Any:
    """Lengths of strings, and everything else as it is."""
    if isinstance(data, str):
        return len(data)
    if isinstance(data, list):
        return [_shape(item) for item in data]
    if isinstance(data, dict):
        return sorted((len(key), repr(_shape(item))) for key, item in data.items())
    return repr(data)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=json_ready)
def test_redaction_never_raises_keeps_lengths_and_done_twice_changes_nothing(data: Any) -> None:
    once = REDACTOR.redact(data)
    assert repr(REDACTOR.redact(once)) == repr(once)
    if "dict" not in {type(item).__name__ for item in _leaves(data)}:  # two keys may become one
        assert _shape(once) == _shape(data)


def _leaves(data: Any) -> list[Any]:
    inner = [*data] if isinstance(data, list) else [*data.values()] if isinstance(data, dict) else []
    return [data, *(leaf for item in inner for leaf in _leaves(item))]


# -- this machine -----------------------------------------------------------------------------------------------------


def test_the_redactor_of_this_machine_knows_the_user_behind_sudo_and_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"USER": "root", "LOGNAME": "carolst", "SUDO_USER": "daveop", "HOME": "/export/ermaqr/"}
    monkeypatch.setattr(os, "environ", environment)
    monkeypatch.setattr(os, "uname", lambda: types.SimpleNamespace(nodename="gx10-1a2b.example"))
    machine = redaction.redactor_for_this_machine()
    text = "root carolst daveop ermaqr /export/ermaqr/venv gx10-1a2b gx10-1a2b.example"
    assert machine.text(text) == "root xxxxxxx xxxxxx xxxxxx /export/xxxxxx/venv xxxxxxxxx xxxxxxxxxxxxxxxxx"


def test_the_redactor_of_a_machine_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"HOME": "/"})
    monkeypatch.delattr(os, "uname")
    assert redaction.redactor_for_this_machine().text("/usr/bin root") == "/usr/bin root"


@pytest.fixture
def alice(tmp_path: Path, environment: Callable[..., Path]) -> dict[str, Any]:
    """Options of the fixture `gonogo` for a user whose name is in every path and variable."""
    training = environment("alicexyz-venv")
    folder = tmp_path / "alicexyz" / "project"
    folder.mkdir(parents=True)
    (folder / "constraints.txt").write_text("torch==2.9.1+cu130\nbase64==1.0\n")
    return {
        "cwd": folder,
        "env": {
            "HOME": "/home/alicexyz",
            "USER": "alicexyz",
            "LOGNAME": "alicexyz",
            "VIRTUAL_ENV": str(training),
            "LD_LIBRARY_PATH": "/home/alicexyz/lib:/opt/alicexyz/lib",
            "PIP_CONSTRAINT": str(folder / "constraints.txt"),
            "NVIDIA_VISIBLE_DEVICES": f"GPU-{UUID}",
        },
    }


@pytest.mark.parametrize("raw", [True, False])
def test_a_record_names_nobody_and_gives_the_same_findings(
    gonogo: Callable[..., Any], alice: dict[str, Any], tmp_path: Path, raw: bool
) -> None:
    completed = gonogo("record", *(["--raw"] if raw else []), **alice)
    assert completed.returncode == 0
    assert "alicexyz" not in completed.stdout + completed.stderr
    assert UUID not in completed.stdout
    hidden = "".join(re.findall(r'"base64": "([^"]+)"', completed.stdout))
    assert b"alicexyz" not in base64.b64decode(hidden[: len(hidden) // 4 * 4])
    record = tmp_path / "record.json"
    record.write_text(completed.stdout)
    live = json.loads(gonogo("check", "--format", "json", **alice).stdout)
    replayed = json.loads(gonogo("check", "--format", "json", "--facts", str(record)).stdout)
    for outcome in (live, replayed):
        outcome["codes"] = [(item["code"], item["status"], item["confidence"]) for item in outcome["findings"]]
    assert replayed["codes"] == live["codes"]
    assert (replayed["verdict"], replayed["platform"]["id"]) == (live["verdict"], live["platform"]["id"])
    assert replayed["environment"]["torch"] == live["environment"]["torch"] == "2.9.1+cu130"
    assert "alicexyz" not in json.dumps(replayed)
