"""GPU samples: rows of nvidia-smi's CSV with or without its header, its table, and "clocks.sm 721 MHz" in prose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gonogo.logs.scanning import Line
from gonogo.telemetry.series import Sample, Series

LITERALS = (" MHz, ", "clocks.sm", "clocks.current.sm", "utilization.gpu", " MHz,", "W / ", "C    P")

#: nvidia-smi's names of columns, and the field of a sample.
_COLUMNS = {
    **dict.fromkeys(("clocks.sm", "clocks.current.sm", "clocks.gr", "clocks.current.graphics"), "clock_sm_mhz"),
    "utilization.gpu": "utilization_gpu_percent",
    **dict.fromkeys(("power.draw", "power.draw.average", "power.draw.instant"), "power_watts"),
    "temperature.gpu": "temperature_celsius",
}
_REASONS = {
    "clocks_event_reasons.sw_thermal_slowdown": "sw_thermal_slowdown",
    "clocks_throttle_reasons.sw_thermal_slowdown": "sw_thermal_slowdown",
    "clocks_event_reasons.hw_thermal_slowdown": "hw_thermal_slowdown",
    "clocks_throttle_reasons.hw_thermal_slowdown": "hw_thermal_slowdown",
}
#: The time stamp that nvidia-smi writes into its CSV; no other program writes this form.
_STAMP = re.compile(r"\b20[0-9]{2}/[0-9]{2}/[0-9]{2} (?P<h>[0-9]{2}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2}\.[0-9]{3})\b")
_TIME = re.compile(r"\b(?P<h>[0-2]?[0-9]):(?P<m>[0-5][0-9]):(?P<s>[0-5][0-9](?:[.,][0-9]{1,6})?)\b")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_TABLE = re.compile(
    r"\|\s+(?:[0-9]+%|N/A|ERR!)\s+(?P<celsius>[0-9]+)C\s+P(?P<state>[0-9]+)\s+(?P<watts>[0-9]+)W\s*/\s*(?:[0-9]+W|N/A)\s*\|"
    r"[^|]*\|\s*(?P<busy>[0-9]+)%"
)
_PROSE = re.compile(
    r"\b(?P<name>clocks\.(?:current\.)?sm|utilization\.gpu|power\.draw|temperature\.gpu)(?: \[[^\]]*\])?[ =:]+"
    r"(?:about )?(?P<value>[0-9]+(?:\.[0-9]+)?)"
)


def series(lines: Sequence[Line]) -> Series:
    """Every sample in order. ``place`` is the index into ``lines``."""
    found: list[Sample] = []
    columns: list[str] | None = None
    started: float | None = None
    for place, line in enumerate(lines):
        text = line.text
        header = _header(text)
        if header is not None:
            columns = header
            continue
        sample = (_by_columns(text, columns) if columns else None) or _by_units(text) or _table(text) or _prose(text)
        if sample is None:
            continue
        seconds = _seconds(text)
        if seconds is not None:
            started = seconds if started is None else started
            seconds = (seconds - started) % 86400
        found.append(sample._replace(seconds=seconds, place=place))
    return tuple(found)


def _seconds(text: str) -> float | None:
    stamp = _STAMP.search(text) or _TIME.search(text)
    if stamp is None:
        return None
    return int(stamp["h"]) * 3600 + int(stamp["m"]) * 60 + float(stamp["s"].replace(",", "."))


def _header(text: str) -> list[str] | None:
    """The columns of a CSV header of nvidia-smi, units taken off."""
    names = [re.sub(r" \[[^\]]*\]$", "", part.strip()) for part in text.split(",")]
    known = [name for name in names if name in _COLUMNS]
    return names if len(known) >= 1 and len(names) >= 2 and not _NUMBER.fullmatch(names[-1]) else None


def _by_columns(text: str, columns: Sequence[str]) -> Sample | None:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != len(columns):
        return None
    values: dict[str, float] = {}
    reasons = []
    for name, part in zip(columns, parts, strict=True):
        number = _NUMBER.match(part)
        if name in _COLUMNS and number:
            values.setdefault(_COLUMNS[name], float(number.group()))
        elif name in _REASONS and part == "Active":
            reasons.append(_REASONS[name])
    return _sample(values, tuple(reasons) or None) if values else None


def _sample(values: Mapping[str, float], reasons: tuple[str, ...] | None = None) -> Sample:
    return Sample(
        utilization_gpu_percent=values.get("utilization_gpu_percent"),
        clock_sm_mhz=values.get("clock_sm_mhz"),
        power_watts=values.get("power_watts"),
        temperature_celsius=values.get("temperature_celsius"),
        event_reasons_active=reasons,
    )


def _by_units(text: str) -> Sample | None:
    """A row without its header: nvidia-smi's time stamp, or a state P0, beside figures with their units."""
    parts = [part.strip() for part in text.split(",")]
    clock = _first(parts, "MHz")
    busy = _first(parts, "%")
    if clock is None or busy is None or len(parts) < 2:
        return None
    if not (_STAMP.search(text) or any(re.fullmatch(r"P[0-9]{1,2}", part) for part in parts)):
        return None
    return Sample(utilization_gpu_percent=busy, clock_sm_mhz=clock, power_watts=_first(parts, "W"))


def _first(parts: Iterable[str], unit: str) -> float | None:
    for part in parts:
        found = re.fullmatch(rf"([0-9]+(?:\.[0-9]+)?) {unit}", part)
        if found:
            return float(found.group(1))
    return None


def _table(text: str) -> Sample | None:
    found = _TABLE.search(text)
    if found is None:
        return None
    return Sample(
        utilization_gpu_percent=float(found["busy"]),
        power_watts=float(found["watts"]),
        temperature_celsius=float(found["celsius"]),
    )


def _prose(text: str) -> Sample | None:
    values: dict[str, float] = {}
    for found in _PROSE.finditer(text):
        values.setdefault(_COLUMNS[found["name"]], float(found["value"]))
    return _sample(values) if len(values) >= 2 else None
