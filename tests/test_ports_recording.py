"""What is recorded replays to the same answers, and a malformed recording raises one line of ValueError.

The oracle of a replay is the port that was recorded.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st

from gonogo.node import raw
from gonogo.node.collection import Result
from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, REASONS, Missing
from gonogo.node.ports import recording
from gonogo.node.ports.commands import Commands, Completed
from gonogo.node.ports.devices import Devices
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import Host


class FixedDevices(Devices):
    """Answers of every shape that NVML's binding gives, without NVML."""

    ANSWERS: ClassVar[dict[tuple[Any, ...], Any]] = {
        ("nvmlSystemGetDriverVersion", None): "580.126.09",
        ("nvmlDeviceGetCudaComputeCapability", 0): [12, 1],
        ("nvmlDeviceGetMemoryInfo", 0): Missing("not_supported", "Not Supported"),
        ("nvmlDeviceGetPciInfo", 0): {"busId": "0000000F:01:00.0", "pciDeviceId": 0x2E1210DE},
        ("nvmlDeviceGetClockInfo", 0, 1): 208,
        ("nvmlDeviceGetClockInfo", 0, 2): Missing("not_supported"),
        ("nvmlDeviceGetFieldValues", 0, "[74]"): [{"nvmlReturn": 0, "valueType": 3, "value": {"ullVal": 2**64 - 1}}],
        ("nvmlDeviceGetComputeRunningProcesses", 0): [{"pid": 1, "usedGpuMemory": None}],
    }

    def open(self) -> Missing | None:
        return None

    def constant(self, name: str) -> int | None:
        return {"NVML_FI_DEV_PERF_POLICY_POWER": 74}.get(name)

    def call(self, function: str, device: int | None = None, *arguments: Any) -> Any:
        return self.ANSWERS[(function, device, *(str(a) if isinstance(a, list) else a for a in arguments))]


def _recorded(host: Host) -> tuple[Host, dict[str, Any]]:
    into = recording.empty()
    return recording.recording_host(host, into), into


def _replayed(into: dict[str, Any]) -> Host:
    # Through text, as a record travels.
    return recording.replayed_host(json.loads(json.dumps(into)))


def _host(**changes: Any) -> Host:
    return Host(**{"files": Files(), "commands": Commands(), "devices": Devices(), "environment": {}, **changes})


# -- there and back ---------------------------------------------------------------------------------------------------


def test_files_replay_to_the_same_answers(tmp_path: Path) -> None:
    contents = {
        "text": b"plain\n",
        "utf8": "ünï\u2028".encode(),
        "binary": b"\x00\xff\xfe",
        "empty": b"",
        "nul": b"a\0b",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "link").symlink_to("text")
    os.mkfifo(tmp_path / "pipe")
    strange = os.fsdecode(b"no-utf8-\xff")
    (tmp_path / strange).touch()
    host, into = _recorded(_host())
    paths = [str(tmp_path), *(str(tmp_path / name) for name in [*contents, "link", "pipe", "none", strange])]
    methods = ("read", "text", "names", "kind", "resolve", "exists")
    live = {(method, path): getattr(host.files, method)(path) for method in methods for path in paths}
    assert live == {(method, path): getattr(Files(), method)(path) for method in methods for path in paths}
    replay = _replayed(into).files
    assert {key: getattr(replay, key[0])(key[1]) for key in live} == live
    assert replay.read("/never/asked") == Missing(NOT_COLLECTED, "not in the recording")


def test_commands_replay_to_the_same_answers() -> None:
    host, into = _recorded(_host())
    argvs = [
        ["/bin/sh", "-c", "printf 'a\\377'; printf err >&2; exit 3"],
        ["/bin/sh", "-c", "kill -SEGV $$"],
        ["no-such-program-anywhere", "--x"],
        [sys.executable, "-c", "print('one\\ntwo')"],
    ]
    live = [host.commands.run(argv, 20.0) for argv in argvs]
    assert live[0] == Completed(3, b"a\xff", b"err")
    assert live[2] == Missing(NOT_FOUND)
    replay = _replayed(into).commands
    assert [replay.run(argv, 20.0) for argv in argvs] == live
    # Another argument is another command.
    assert replay.run(["no-such-program-anywhere", "--y"], 20.0) == Missing(NOT_COLLECTED, "not in the recording")


def test_devices_replay_to_the_same_answers() -> None:
    host, into = _recorded(_host(devices=FixedDevices()))
    keys = [key for key in FixedDevices.ANSWERS if key[0] != "nvmlDeviceGetFieldValues"]
    fields = ("NVML_FI_DEV_PERF_POLICY_POWER", "NVML_FI_NO_SUCH")
    opened = host.devices.open()
    live = {key: host.devices.call(*key) for key in keys}
    values = host.devices.field_values(0, fields)
    assert values["NVML_FI_DEV_PERF_POLICY_POWER"] == 2**64 - 1
    replay = _replayed(into).devices
    assert replay.open() is opened is None
    assert {key: replay.call(*key) for key in keys} == live
    assert replay.field_values(0, fields) == values
    assert replay.call("nvmlDeviceGetName", 0) == Missing(NOT_COLLECTED)


def test_a_library_that_did_not_open_replays_so() -> None:
    class Absent(Devices):
        def open(self) -> Missing | None:
            return Missing(NOT_FOUND, "libnvidia-ml.so.1: cannot open shared object file")

    host, into = _recorded(_host(devices=Absent()))
    assert host.devices.open() == _replayed(into).devices.open() == Absent().open()


def test_of_the_environment_only_what_was_asked_for_is_kept() -> None:
    inner = {"PATH": "/bin", "VIRTUAL_ENV": "/v", "HF_TOKEN": "hf_secret", "AWS_SECRET_ACCESS_KEY": "secret"}
    host, into = _recorded(_host(environment=inner))
    assert host.environment["PATH"] == "/bin"
    assert host.environment.get("VIRTUAL_ENV") == "/v"
    assert host.environment.get("CONDA_PREFIX") is None
    assert sorted(host.environment) == sorted(inner) and len(host.environment) == 4
    assert into["environment"] == {"PATH": "/bin", "VIRTUAL_ENV": "/v"}
    assert "secret" not in json.dumps(into)
    assert _replayed(into).environment.get("PATH") == "/bin"


def test_the_plain_fields_of_the_host_are_kept() -> None:
    plain = {
        "system": "Linux",
        "machine": "aarch64",
        "folder": "/work",
        "requested_python": "p",
        "parent": 7,
        "user": 0,
    }
    _, into = _recorded(_host(**plain))
    assert {name: getattr(_replayed(into), name) for name in plain} == plain


def test_recordings_of_several_collectors_make_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    first, one = _recorded(_host(system="Linux"))
    second, two = _recorded(_host(system="Linux", environment={"PATH": "/bin"}))
    first.files.read(str(tmp_path / "a"))
    second.files.names(str(tmp_path))
    second.files.read(str(tmp_path / "b"))
    assert second.environment["PATH"]
    results = [
        Result("one", {}, 0.0, "ok", one),
        Result("lost", {}, 0.0, "failed", None),
        Result("two", {}, 0.0, "ok", two),
    ]
    host = raw.host_of(json.loads(json.dumps(raw.document(results))))
    assert host.files.read(str(tmp_path / "a")) == b"a"
    assert host.files.names(str(tmp_path)) == ["a"]
    assert host.files.read(str(tmp_path / "b")) == Missing(NOT_FOUND)
    assert (host.environment["PATH"], host.system) == ("/bin", "Linux")


answers = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.text(),
        st.binary(),
        st.builds(Missing, st.sampled_from(REASONS), st.text()),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["pid", "busId", "value"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(answer=answers)
def test_any_answer_survives_the_way_through_json(answer: Any) -> None:
    class Says(Devices):
        def call(self, function: str, device: int | None = None, *arguments: Any) -> Any:
            return answer

    host, into = _recorded(_host(devices=Says()))
    host.devices.call("f", 0)
    assert _replayed(into).devices.call("f", 0) == answer
