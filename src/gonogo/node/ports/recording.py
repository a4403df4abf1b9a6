"""Recording what the ports answered, as JSON-ready data, and replaying it.

A recording holds ``files`` by method and path, ``commands``, ``devices``, ``environment`` (only the variables that a
collector asked for) and ``host``. Bytes that are text are kept as text, others in base 64.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Callable, Iterator, Mapping, Sequence

from gonogo.node import launch_variables
from gonogo.node.facts.missing import REASONS, Missing
from gonogo.node.ports.commands import Commands, Completed, ReplayedCommands, command_key
from gonogo.node.ports.devices import Devices, ReplayedDevices, device_key
from gonogo.node.ports.files import LIMIT_BYTES, Files, ReplayedFiles, Space
from gonogo.node.ports.host import Host

HOST_FIELDS = (
    *("system", "machine", "kernel_release", "folder", "own_prefix", "own_checkout"),
    *("requested_python", "parent", "user", "thorough"),
)


def empty() -> dict[str, Any]:
    """A recording without answers."""
    return {"files": {}, "commands": {}, "devices": {}, "environment": {}, "host": {}}


def recording_host(inner: Host, into: dict[str, Any]) -> Host:
    """A host that answers as ``inner`` does and writes every answer into the recording ``into``."""
    into["host"] = {name: getattr(inner, name) for name in HOST_FIELDS}
    return inner._replace(
        files=_RecordingFiles(inner.files, into["files"]),
        commands=_RecordingCommands(inner.commands, into["commands"]),
        devices=_RecordingDevices(inner.devices, into["devices"]),
        environment=_RecordingEnvironment(inner.environment, into["environment"]),
    )


def replayed_host(recording: Mapping[str, Any]) -> Host:
    """The host that ``recording`` was taken from. Raises an exception of the data's kind when it is malformed."""
    of_the_host = dict(recording["host"])
    files = {
        method: {path: _thaw(answer) for path, answer in answers.items()}
        for method, answers in recording["files"].items()
    }
    commands = {key: _thaw(answer) for key, answer in recording["commands"].items()}
    devices = {key: _thaw(answer) for key, answer in recording["devices"].items()}
    return Host(
        files=ReplayedFiles(files),
        commands=ReplayedCommands(commands),
        devices=ReplayedDevices(devices),
        environment=dict(recording["environment"]),
        **{name: of_the_host[name] for name in HOST_FIELDS if name in of_the_host},
    )


def merge(recordings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One recording out of those of several collectors."""
    merged = empty()
    for recording in recordings:
        for method, answers in recording["files"].items():
            merged["files"].setdefault(method, {}).update(answers)
        for part in ("commands", "devices", "environment", "host"):
            merged[part].update(recording[part])
    return merged


# -- answers as JSON-ready data ---------------------------------------------------------------------------------------


def _freeze(answer: Any) -> Any:
    if isinstance(answer, Missing):
        return {"missing": answer.reason, "detail": answer.detail}
    if isinstance(answer, (Completed, Space)):
        return {name: _freeze(value) for name, value in answer._asdict().items()}
    if isinstance(answer, bytes):
        try:
            return {"text": answer.decode("utf-8")}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(answer).decode("ascii")}
    if isinstance(answer, dict):
        return {key: _freeze(value) for key, value in answer.items()}
    return [_freeze(item) for item in answer] if isinstance(answer, (list, tuple)) else answer


def _thaw(data: Any) -> Any:
    if isinstance(data, list):
        return [_thaw(item) for item in data]
    if not isinstance(data, dict):
        return data
    if "missing" in data:
        if data["missing"] not in REASONS:
            raise ValueError(f"unknown reason {data['missing']!r}")
        return Missing(data["missing"], str(data.get("detail", "")))
    if set(data) == {"text"}:
        return str(data["text"]).encode("utf-8", "surrogatepass")
    if set(data) == {"base64"}:
        try:
            return base64.b64decode(data["base64"], validate=True)
        except (binascii.Error, TypeError) as error:
            raise ValueError(f"bad base64: {error}") from None
    if set(data) == {"status", "output", "errors"}:
        return Completed(int(data["status"]), _thaw(data["output"]), _thaw(data["errors"]))
    return {key: _thaw(value) for key, value in data.items()}


# -- recorders --------------------------------------------------------------------------------------------------------


class _RecordingFiles(Files):
    def __init__(self, inner: Files, into: dict[str, Any]) -> None:
        super().__init__()
        self._inner, self._into = inner, into

    def _keep(self, method: str, path: str, answer: Any) -> Any:
        self._into.setdefault(method, {})[path] = _freeze(answer)
        return answer

    def read(self, path: str, limit_bytes: int = LIMIT_BYTES) -> bytes | Missing:
        return self._keep("read", path, self._inner.read(path, limit_bytes))  # type: ignore[no-any-return]

    def reduced(self, path: str, reduce: Callable[[bytes], Any], limit_bytes: int = LIMIT_BYTES) -> Any:
        return self._keep("reduced", path, self._inner.reduced(path, reduce, limit_bytes))

    def space(self, path: str) -> Space | Missing:
        return self._keep("space", path, self._inner.space(path))  # type: ignore[no-any-return]

    def writable(self, path: str) -> bool | Missing:
        return self._keep("writable", path, self._inner.writable(path))  # type: ignore[no-any-return]

    def names(self, path: str) -> list[str] | Missing:
        return self._keep("names", path, self._inner.names(path))  # type: ignore[no-any-return]

    def kind(self, path: str) -> str | Missing:
        return self._keep("kind", path, self._inner.kind(path))  # type: ignore[no-any-return]

    def resolve(self, path: str) -> str | Missing:
        return self._keep("resolve", path, self._inner.resolve(path))  # type: ignore[no-any-return]


class _RecordingCommands(Commands):
    def __init__(self, inner: Commands, into: dict[str, Any]) -> None:
        self._inner, self._into = inner, into

    def run(
        self,
        argv: Sequence[str],
        limit_seconds: float,
        environment: Mapping[str, str] | None = None,
        user_and_group: tuple[int, int] | None = None,
    ) -> Completed | Missing:
        answer = self._inner.run(argv, limit_seconds, environment, user_and_group)
        self._into[command_key(argv)] = _freeze(answer)
        return answer


class _RecordingDevices(Devices):
    def __init__(self, inner: Devices, into: dict[str, Any]) -> None:
        super().__init__()
        self._inner, self._into = inner, into

    def constant(self, name: str) -> int | None:
        value = self._inner.constant(name)
        self._into[f"constant {name}"] = value
        return value

    def open(self) -> Missing | None:
        answer = self._inner.open()
        self._into["open"] = _freeze(answer)
        return answer

    def call(self, function: str, device: int | None = None, *arguments: Any) -> Any:
        answer = self._inner.call(function, device, *arguments)
        self._into[device_key(function, device, *arguments)] = _freeze(answer)
        return answer


class _RecordingEnvironment(Mapping[str, str]):
    """Records a variable when it is asked for by name; iterating hands out names and records nothing."""

    def __init__(self, inner: Mapping[str, str], into: dict[str, str]) -> None:
        self._inner, self._into = inner, into

    def __getitem__(self, name: str) -> str:
        value = self._inner[name]
        self._into[name] = launch_variables.kept(name, value) if launch_variables.relevant(name) else value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._inner)

    def __len__(self) -> int:
        return len(self._inner)
