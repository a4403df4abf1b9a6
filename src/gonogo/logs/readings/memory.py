"""System memory as a log shows it: lines of /proc/meminfo, and the table of free."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gonogo.logs.scanning import Line

LITERALS = (
    "MemTotal:",
    "MemAvailable:",
    "MemFree:",
    "SwapTotal:",
    "SwapFree:",
    "CmaTotal:",
    "CmaFree:",
    "Cached:",
    "Mem: ",
)

_MEMINFO = re.compile(
    r"\b(?P<key>MemTotal|MemFree|MemAvailable|Cached|Shmem|SwapTotal|SwapFree|CmaTotal|CmaFree|HugePages_Total|HugePages_Free|"
    r"Hugepagesize):\s+(?P<value>[0-9]{1,15}(?:\.[0-9]{1,9})?)\s*(?P<unit>kB|KiB|MB|MiB|GB|GiB|Gi|Mi|G)?"
)
_FIELDS = {
    "MemTotal": "total_bytes",
    "MemFree": "free_bytes",
    "MemAvailable": "available_bytes",
    "Cached": "cached_bytes",
    "Shmem": "shared_bytes",
    "SwapTotal": "swap_total_bytes",
    "SwapFree": "swap_free_bytes",
    "CmaTotal": "cma_total_bytes",
    "CmaFree": "cma_free_bytes",
    "HugePages_Total": "huge_pages_total",
    "HugePages_Free": "huge_pages_free",
    "Hugepagesize": "huge_page_size_bytes",
}
#: kB of the kernel and of free is 1024 bytes; the rest is taken as binary too, as these programs mean it.
_UNITS = {
    "": 1,
    "kB": 10,
    "KiB": 10,
    "Ki": 10,
    "MB": 20,
    "MiB": 20,
    "Mi": 20,
    "M": 20,
    "GB": 30,
    "GiB": 30,
    "Gi": 30,
    "G": 30,
}
_FREE = re.compile(r"\b(?P<row>Mem|Swap):(?P<figures>(?:\s+[0-9]{1,15}(?:\.[0-9]{1,9})?[KMGT]?i?B?){3,6})\s*$")


def section(lines: Sequence[Line]) -> tuple[dict[str, Any], list[int]]:
    """The section ``memory`` of facts, first figure of each kind, and the lines it was read from; empty for none."""
    found: dict[str, Any] = {}
    places: list[int] = []
    for place, line in enumerate(lines):
        values = _meminfo(line.text) or _free(line.text)
        new = {name: value for name, value in values.items() if name not in found}
        if new:
            found.update(new)
            places.append(place)
    return found, places


def _meminfo(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in _MEMINFO.finditer(text):
        key, unit = row["key"], row["unit"] or ""
        if key.startswith("HugePages_"):
            found[_FIELDS[key]] = int(float(row["value"]))
        elif unit:
            found[_FIELDS[key]] = int(float(row["value"]) * (1 << _UNITS[unit]))
    return found


def _free(text: str) -> dict[str, Any]:
    """Rows of free -h: figures with a unit each."""
    row = _FREE.search(text)
    if row is None:
        return {}
    figures = row["figures"].split()
    if all(figure[-1:].isdigit() for figure in figures):
        return {}  # bare numbers may be of any unit: -k, -m and -g look alike
    sizes = [_size(figure) for figure in figures]
    if row["row"] == "Swap" and len(sizes) >= 3:
        return {"swap_total_bytes": sizes[0], "swap_free_bytes": sizes[2]}
    if row["row"] == "Mem" and len(sizes) == 6:
        names = ("total_bytes", "", "free_bytes", "shared_bytes", "", "available_bytes")
        return {name: size for name, size in zip(names, sizes, strict=True) if name}
    return {}


def _size(figure: str) -> int:
    number = re.match(r"[0-9]+(?:\.[0-9]+)?", figure)
    unit = figure[number.end() :] if number else ""
    powers = {"": 0, "B": 0, "K": 10, "Ki": 10, "M": 20, "Mi": 20, "G": 30, "Gi": 30, "T": 40, "Ti": 40}
    return int(float(number.group()) * (1 << powers.get(unit, 0))) if number else 0
