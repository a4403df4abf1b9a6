"""Line-oriented key and value files: meminfo, vmstat, pressure, release files, constraints."""

from __future__ import annotations

import re

_MEMINFO = re.compile(r"^([A-Za-z0-9_()]+):\s+([0-9]{1,18})(?:\s+(kB))?\s*$", re.MULTILINE)
_VMSTAT = re.compile(r"^([a-z0-9_]+) ([0-9]{1,18})$", re.MULTILINE)
_PRESSURE = re.compile(r"^(some|full) avg10=([0-9]{1,3}\.[0-9]+) avg60=([0-9]{1,3}\.[0-9]+)", re.MULTILINE)
_RELEASE = re.compile(r"^[ \t]*([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.MULTILINE)
_PIN = re.compile(
    r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*===?\s*([A-Za-z0-9][A-Za-z0-9.!+_-]*)(?=\s*(?:[;#,\\]|$))"
)


def meminfo(text: str) -> dict[str, int]:
    """/proc/meminfo: values in kB become bytes, counts (HugePages_Total) stay counts."""
    return {key: int(number) * (1024 if unit else 1) for key, number, unit in _MEMINFO.findall(text)}


def vmstat(text: str) -> dict[str, int]:
    """/proc/vmstat."""
    return {key: int(number) for key, number in _VMSTAT.findall(text)}


def pressure(text: str) -> dict[str, float]:
    """/proc/pressure/*: ``some_avg10``, ``some_avg60``, ``full_avg10``, ``full_avg60`` in percent."""
    found: dict[str, float] = {}
    for kind, avg10, avg60 in _PRESSURE.findall(text):
        found[f"{kind}_avg10"] = float(avg10)
        found[f"{kind}_avg60"] = float(avg60)
    return found


def release(text: str) -> dict[str, str]:
    """os-release, dgx-release, fastos-release: shell assignments; later lines win (an update appends its own)."""
    return {key: _unquoted(value.strip()) for key, value in _RELEASE.findall(text)}


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"" else value


def constraints(text: str) -> dict[str, str]:
    """Exact pins (name==version) of a pip constraint file, names normalised; anything else is passed over."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        pin = _PIN.match(line)
        if pin:
            found[normalised(pin.group(1))] = pin.group(2)
    return found


def normalised(name: str) -> str:
    """A distribution's name as PyPI compares it: lower case, runs of ``-_.`` as one dash."""
    return re.sub(r"[-_.]+", "-", name).lower()


def version_in_library_name(path: str) -> str | None:
    """580.95.05 of libcuda.so.580.95.05; None for a bare soname (libcuda.so.1, libcuda.so.1.1 of WSL)."""
    found = re.search(r"\.so\.([0-9]{3,4}(?:\.[0-9]+)+)$", path)
    return found.group(1) if found else None
