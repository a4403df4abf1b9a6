"""NVML through nvidia-ml-py, one call at a time, answers as plain data.

Structures become dicts, byte strings text. A device is addressed by its index. NVML can hang in the kernel and its
library can crash: use this only in a child that may be abandoned (``gonogo.node.collect`` sees to it).
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from gonogo.node.facts.missing import FAILED, NOT_FOUND, NOT_SUPPORTED, PERMISSION_DENIED, TIMED_OUT, Missing

#: NVML return codes (nvml.h) that have a reason of their own; every other error is FAILED with NVML's text.
_REASONS = {3: NOT_SUPPORTED, 13: NOT_SUPPORTED, 4: PERMISSION_DENIED, 6: NOT_FOUND, 10: TIMED_OUT, 12: NOT_FOUND}


class Devices:
    """The live port."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: dict[int, Any] = {}

    def open(self) -> Missing | None:
        """Start NVML; None when it answers, else why not. not_found means that its library is not installed."""
        import ctypes  # in the child that opens it, not at start-up

        try:
            # The library first: where there is none, the binding (28 ms to import) is not worth loading.
            ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            text = str(error)
            return Missing(
                NOT_FOUND if "cannot open shared object" in text else FAILED, text.split("\n", maxsplit=1)[0]
            )
        try:
            import pynvml
        except ImportError:
            return Missing(NOT_FOUND, "the Python binding nvidia-ml-py is not installed")
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            return _missing(error)
        self._nvml = pynvml
        return None

    def call(self, function: str, device: int | None = None, *arguments: Any) -> Any:
        """``pynvml.function(handle of device, *arguments)`` as plain data, or the Missing that NVML's error means."""
        nvml = self._nvml
        if nvml is None:
            return Missing(FAILED, "NVML is not open")
        target = getattr(nvml, function, None)
        if target is None:
            return Missing(NOT_SUPPORTED, f"this nvidia-ml-py has no {function}")
        try:
            if device is None:
                return plain(target(*arguments))
            if device not in self._handles:
                self._handles[device] = nvml.nvmlDeviceGetHandleByIndex(device)
            return plain(target(self._handles[device], *arguments))
        except nvml.NVMLError as error:
            return _missing(error)
        except Exception as error:  # ctypes.ArgumentError, a structure that changed: never the end of the collector
            return Missing(FAILED, f"{function}: {error}")

    def constant(self, name: str) -> int | None:
        """A constant of the binding: some field ids moved between driver branches, their names did not."""
        value = getattr(self._nvml, name, None)
        return value if isinstance(value, int) else None

    def field_values(self, device: int, names: Sequence[str]) -> dict[str, Any]:
        """``{name: value or Missing}`` of nvmlDeviceGetFieldValues (constants NVML_FI_*), each with its own status."""
        found: dict[str, Any] = {}
        for name in names:
            field = self.constant(name)
            if field is None:
                found[name] = Missing(NOT_SUPPORTED, f"this nvidia-ml-py has no {name}")
                continue
            rows = self.call("nvmlDeviceGetFieldValues", device, [field])
            found[name] = rows if isinstance(rows, Missing) else _field_value(rows[0])
        return found


def _field_value(row: Mapping[str, Any]) -> int | float | Missing:
    if row["nvmlReturn"] != 0:
        return Missing(_REASONS.get(row["nvmlReturn"], FAILED), f"NVML error {row['nvmlReturn']}")
    member = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}.get(row["valueType"])
    value = row["value"].get(member) if member else None
    return Missing(FAILED, f"unknown value type {row['valueType']}") if value is None else value


def _missing(error: Any) -> Missing:
    code = getattr(error, "value", 0)
    return Missing(_REASONS.get(code, FAILED), str(error))


def plain(value: Any) -> Any:
    """ctypes structures and arrays, byte strings and pynvml's friendly objects as dicts, lists and text."""
    import ctypes

    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (ctypes.Structure, ctypes.Union)):
        return {field[0]: plain(getattr(value, field[0])) for field in value._fields_}
    if isinstance(value, (list, tuple, ctypes.Array)):
        return [plain(item) for item in value]
    members = getattr(value, "__dict__", None)
    return {name: plain(item) for name, item in members.items()} if members is not None else str(value)


class ReplayedDevices(Devices):
    """Answers from a recording, keyed as :func:`device_key` says."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        super().__init__()
        self._answers = answers

    def constant(self, name: str) -> int | None:
        value = self._answers.get(f"constant {name}")
        return value if isinstance(value, int) else None

    def open(self) -> Missing | None:
        return self._answers.get("open", Missing("not_collected", "not in the recording"))  # type: ignore[no-any-return]

    def call(self, function: str, device: int | None = None, *arguments: Any) -> Any:
        return self._answers.get(device_key(function, device, *arguments), Missing("not_collected"))


def device_key(function: str, device: int | None = None, *arguments: Any) -> str:
    """The key of a call in a recording: function, device index, arguments."""
    return " ".join([function, "-" if device is None else str(device), *map(str, arguments)])
