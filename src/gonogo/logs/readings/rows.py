"""GPU samples: nvidia-smi's CSV with its header or its command, its table, dmon and -q, DCGM's metrics, and free text.

A clock that equals the ceiling which the log itself sets (-lgc) is left out of its sample: it says nothing of a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gonogo.logs.scanning import Line
from gonogo.node.parse.event_reasons import EVENT_REASONS, active_reasons
from gonogo.telemetry.series import Sample, Series

LITERALS = (
    *(" MHz, ", "clocks.sm", "clocks.current.sm", "utilization.gpu", " MHz,", "W / ", "C    P", "--query-gpu="),
    *("# gpu ", "gpuClkMax", "-lgc ", "Performance State", "Thermal Slowdown  ", "GPU Current Temp", "Power Draw  "),
    *("SM                 ", "Gpu                ", "    Clocks", "DCGM_FI_DEV_"),
)

CLOCK, BUSY, WATTS, CELSIUS = "clock_sm_mhz", "utilization_gpu_percent", "power_watts", "temperature_celsius"
#: nvidia-smi's names of columns, and the field of a sample.
_COLUMNS = {
    **dict.fromkeys(("clocks.sm", "clocks.current.sm", "clocks.gr", "clocks.current.graphics"), CLOCK),
    "utilization.gpu": BUSY,
    **dict.fromkeys(("power.draw", "power.draw.average", "power.draw.instant"), WATTS),
    "temperature.gpu": CELSIUS,
}
_MASKS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_REASONS = {f"clocks_{word}_reasons.{name}": name for word in ("event", "throttle") for name in EVENT_REASONS.values()}
#: The columns of nvidia-smi dmon, its own names; tviol is a thermal violation, as a flag.
_DMON = {"pclk": CLOCK, "sm": BUSY, "pwr": WATTS, "gtemp": CELSIUS, "tviol": "sw_thermal_slowdown"}
_DCGM = {"SM_CLOCK": CLOCK, "GPU_UTIL": BUSY, "POWER_USAGE": WATTS, "GPU_TEMP": CELSIUS}
#: nvidia-smi -q, one figure a line. "SM" counts below the heading Clocks only: maxima have headings of their own.
_QUERY = {
    "GPU Current Temp": CELSIUS,
    "Gpu": BUSY,
    "GPU": BUSY,
    **dict.fromkeys(("Power Draw", "Instantaneous Power Draw", "Average Power Draw"), WATTS),
    "SM": CLOCK,
    "SW Thermal Slowdown": "sw_thermal_slowdown",
    "HW Thermal Slowdown": "hw_thermal_slowdown",
    "HW Slowdown": "hw_slowdown",
    "HW Power Brake Slowdown": "hw_power_brake_slowdown",
}
_UNIT = {CLOCK: "MHz", BUSY: "%", WATTS: "W", CELSIUS: "C"}

#: The time stamp that nvidia-smi writes into its CSV; no other program writes this form.
_STAMP = re.compile(r"\b20[0-9]{2}/[0-9]{2}/[0-9]{2} (?P<h>[0-9]{2}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2}\.[0-9]{3})\b")
_TIME = re.compile(r"\b(?P<h>[0-2]?[0-9]):(?P<m>[0-5][0-9]):(?P<s>[0-5][0-9](?:[.,][0-9]{1,6})?)\b")
_VALUE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?: (?:MHz|%|W|C))?")
_COMMAND = re.compile(r"--query-gpu=(?P<columns>[a-z_.,]+)")
_EVERY = re.compile(r"(?:^|\s)(?:(?P<ms>-lms|--loop-ms)|-l|--loop)[ =](?P<every>[0-9]+)\b")
_LOCK = re.compile(r"(?:(?:-lgc|--lock-gpu-clocks)[ =](?:[0-9]+ ?, ?)?|gpuClkMax )(?P<most>[0-9]{3,4})\b")
_UNLOCK = re.compile(r"nvidia-smi .*(?:-rgc\b|--reset-gpu-clocks)")
_TABLE = re.compile(
    r"\|\s+(?:[0-9]+%|N/A|ERR!)\s+(?P<celsius>[0-9]+)C\s+P(?P<state>[0-9]+)\s+(?P<watts>[0-9]+)W\s*/\s*(?:[0-9]+W|N/A)\s*\|"
    r"[^|]*\|\s*(?P<busy>[0-9]+)%"
)
_PROSE = re.compile(
    r"\b(?:(?P<clock>clocks\.(?:current\.)?(?:sm|gr)|sm[_ ]clock(?:_mhz)?)"
    r"|(?P<busy>utilization\.gpu|gpu[_ ]util(?:ization)?)"
    r"|(?P<watts>power\.draw|power_(?:w|watts|draw))|(?P<celsius>temperature\.gpu|temp_c|gpu_temp))"
    r"(?: \[[^\]]*\])?[ =:]+(?:about |~)?(?P<value>[0-9]+(?:\.[0-9]+)?)"
)
#: Clock, utilisation and power with their units in one line of free text: "96% util, 611 MHz, 12 W".
_FREE = (
    (CLOCK, re.compile(r"(?<![0-9.])([0-9]{3,4})(?: ?/ ?[0-9]{4})? ?MHz\b")),
    (BUSY, re.compile(r"(?<![0-9.])([0-9]{1,3}(?:\.[0-9]+)?) ?%")),
    (WATTS, re.compile(r"(?<![0-9.])([0-9]{1,3}(?:\.[0-9]+)?) ?W\b")),
)
_FREE_CELSIUS = re.compile(r"(?<![0-9.])([0-9]{2,3}(?:\.[0-9])?) ?°?C\b")
_METRIC = re.compile(r"^DCGM_FI_DEV_(?P<name>[A-Z_]+)(?:\{(?P<labels>[^}]*)\})? (?P<value>[0-9]+(?:\.[0-9]+)?)(?:\s|$)")
_FIGURE = re.compile(
    r"^\s*(?P<name>[A-Za-z][A-Za-z. ]*?)\s+: (?P<value>[0-9]+(?:\.[0-9]+)?|Active|Not Active)"
    r"(?: (?P<unit>[A-Za-z%]+))?\s*$"
)


class _Columns(NamedTuple):
    """What the following rows hold. ``every`` are the seconds between them, where a command says so."""

    names: tuple[str, ...]
    separator: str | None = ","
    every: float | None = None


def series(lines: Sequence[Line]) -> Series:
    """Every sample in order. ``place`` is the index into ``lines``."""
    found: list[Sample] = []
    columns: _Columns | None = None
    started: float | None = None
    lock: float | None = None
    rows, block = 0, _Block()
    for place, line in enumerate(lines):
        text = line.text
        lock = _lock(text, lock) if "nvidia-smi" in text or "gpuClkMax" in text else lock
        announced = _announced(text, columns)
        if announced is not None:
            columns, rows = announced, 0
            continue
        found += _unlocked(block.take(text, place), lock)
        sample = (_by_columns(text, columns) if columns else None) or _one_line(text)
        if sample is None:
            continue
        seconds = _seconds(text)
        if seconds is not None:
            started = seconds if started is None else started
            seconds = (seconds - started) % 86400
        elif columns and columns.every:
            seconds = rows * columns.every
        rows += 1
        found += _unlocked([sample._replace(seconds=seconds, place=place)], lock)
    return (*found, *_unlocked(block.rest(), lock))


def _lock(text: str, before: float | None) -> float | None:
    if _UNLOCK.search(text):
        return None
    found = _LOCK.search(text)
    return float(found["most"]) if found else before


def _unlocked(samples: Iterable[Sample], lock: float | None) -> list[Sample]:
    """``samples`` without clocks that stand at the ceiling ``lock``, in MHz."""
    return [
        sample._replace(clock_sm_mhz=None)
        if lock and sample.clock_sm_mhz is not None and 0.95 * lock <= sample.clock_sm_mhz <= 1.02 * lock
        else sample
        for sample in samples
    ]


def _seconds(text: str) -> float | None:
    stamp = _STAMP.search(text) or _TIME.search(text)
    if stamp is None:
        return None
    return int(stamp["h"]) * 3600 + int(stamp["m"]) * 60 + float(stamp["s"].replace(",", "."))


# -- rows below a header ----------------------------------------------------------------------------------------------


def _announced(text: str, before: _Columns | None) -> _Columns | None:
    """The columns that a command asks for, or that a header of nvidia-smi's CSV or of dmon names."""
    command = _COMMAND.search(text) if "--query-gpu=" in text else None
    if command:
        every = _EVERY.search(text)
        seconds = float(every["every"]) / (1000 if every["ms"] else 1) if every else None
        return _Columns(tuple(command["columns"].split(",")), every=seconds)
    if text.startswith("#") and " gpu " in text and ("pwr" in text or "pclk" in text):
        return _Columns(tuple(text[1:].split()), None)
    names = tuple(part.strip().partition(" [")[0] for part in text.split(","))
    if not any(name in _COLUMNS for name in names) or _VALUE.fullmatch(names[-1]):
        return None
    return _Columns(names, every=before.every if before else None)


def _by_columns(text: str, columns: _Columns) -> Sample | None:
    parts = [part.strip() for part in text.split(columns.separator)]
    if len(parts) != len(columns.names):
        return None
    named = _COLUMNS if columns.separator else _DMON
    values: dict[str, float] = {}
    reasons: list[str] | None = None
    for name, part in zip(columns.names, parts, strict=True):
        number = _VALUE.fullmatch(part)
        if name in _MASKS and re.fullmatch("0x[0-9a-fA-F]{1,16}", part):
            reasons = [*(reasons or ()), *active_reasons(int(part, 16))]
        elif name in _REASONS and part in ("Active", "Not Active"):
            reasons = [*(reasons or ()), *([_REASONS[name]] if part == "Active" else ())]
        elif name == "tviol" and number:
            reasons = ["sw_thermal_slowdown"] if float(number.group(1)) else []
        elif name in named and number:
            values.setdefault(named[name], float(number.group(1)))
    return _sample(values, None if reasons is None else tuple(dict.fromkeys(reasons))) if values else None


def _sample(values: Mapping[str, float], reasons: tuple[str, ...] | None = None) -> Sample:
    return Sample(
        utilization_gpu_percent=values.get(BUSY),
        clock_sm_mhz=values.get(CLOCK),
        power_watts=values.get(WATTS),
        temperature_celsius=values.get(CELSIUS),
        event_reasons_active=reasons,
    )


# -- rows that say themselves what they are ---------------------------------------------------------------------------


def _one_line(text: str) -> Sample | None:
    if "MHz" in text:
        return _by_units(text) or _prose(text) or _free(text)
    return _table(text) if "C " in text and "W /" in text else _prose(text)


def _by_units(text: str) -> Sample | None:
    """A row without its header: nvidia-smi's time stamp, or a state P0, beside figures with their units."""
    parts = [part.strip() for part in text.split(",")]
    if not (_STAMP.search(text) or any(re.fullmatch(r"P[0-9]{1,2}", part) for part in parts)):
        return None
    values: dict[str, float] = {}
    for part in parts:
        for field, unit in _UNIT.items():
            if part.endswith(f" {unit}") and _VALUE.fullmatch(part):
                values.setdefault(field, float(part.split()[0]))
    return _sample(values) if CLOCK in values and BUSY in values else None


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
    fields = {"clock": CLOCK, "busy": BUSY, "watts": WATTS, "celsius": CELSIUS}
    values: dict[str, float] = {}
    for found in _PROSE.finditer(text):
        field = next(field for name, field in fields.items() if found[name])
        values.setdefault(field, float(found["value"]))
    return _sample(values) if len(values) >= 2 else None


def _free(text: str) -> Sample | None:
    if len(text) > 240:
        return None
    values: dict[str, float] = {}
    for field, pattern in _FREE:
        found = pattern.search(text)
        if found is None:
            return None
        values[field] = float(found.group(1))
    celsius = _FREE_CELSIUS.search(text)
    return _sample({**values, CELSIUS: float(celsius.group(1))} if celsius else values)


# -- one figure a line ------------------------------------------------------------------------------------------------


class _Block:
    """Gathers nvidia-smi -q and DCGM's metrics: a sample is whole where a figure comes again, or at the end."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}
        self._reasons: list[str] = []
        self._seen: set[str] = set()
        self._place = -1
        self._heading = ""

    def take(self, text: str, place: int) -> list[Sample]:
        """The samples that end before this line."""
        if text.startswith("DCGM_FI_DEV_"):
            metric = _METRIC.match(text)
            if (
                metric is None
                or metric["name"] not in _DCGM
                or 'gpu="' in (metric["labels"] or "").replace('gpu="0"', "")
            ):
                return []
            return self._add(_DCGM[metric["name"]], float(metric["value"]), place)
        if " : " not in text:
            self._heading = text.strip() or self._heading
            return []
        figure = _FIGURE.match(text)
        field = _QUERY.get(figure["name"]) if figure else None
        if figure is None or field is None or (field == CLOCK and self._heading != "Clocks"):
            return []
        if field not in _UNIT:
            active = figure["value"] == "Active"
            return self._add(field, float(active), place) if active or figure["value"] == "Not Active" else []
        return self._add(field, float(figure["value"]), place) if figure["unit"] == _UNIT[field] else []

    def _add(self, field: str, value: float, place: int) -> list[Sample]:
        done = self.rest() if field in self._seen else []
        self._seen.add(field)
        telling = field == CLOCK or (field not in _UNIT and value > 0)
        if telling or self._place < 0:
            self._place = place
        if field in _UNIT:
            self._values[field] = value
        elif value:
            self._reasons.append(field)
        return done

    def rest(self) -> list[Sample]:
        """What was gathered since, as a sample; none of a single figure."""
        known = any(field not in _UNIT for field in self._seen)
        sample = _sample(self._values, tuple(self._reasons) if known else None)._replace(place=self._place)
        found = [sample] if len(self._values) >= 2 or self._reasons else []
        self._values, self._reasons, self._seen, self._place = {}, [], set(), -1
        return found
