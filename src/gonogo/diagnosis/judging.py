"""Figures in a log, judged by the gotchas' own judges: no second set of rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gonogo import catalogue
from gonogo.diagnosis.outcome import Diagnosis, Evidence
from gonogo.finding import WARN, Finding, rank
from gonogo.logs.device import Device
from gonogo.logs.readings import partial as readings
from gonogo.logs.scanning import Line
from gonogo.node.facts.document import Facts
from gonogo.platforms.identify import GENERIC, SPARK, Platform
from gonogo.preflight import Request, judge, judge_series
from gonogo.selection import Selection

#: What partial facts can be judged for: the rest would only say that nothing was collected.
_JUDGED = Selection(("G1", "G10", "G12", "G17"))


def of_readings(lines: Sequence[Line], device: Device) -> list[Diagnosis]:
    """What the gotchas' own judges say of the figures in ``lines``: findings of WARN and FAIL."""
    partial = readings.read(lines, device)
    found: list[Diagnosis] = []
    if partial.sections:
        judged = judge(Facts(partial.sections), Request(selection=_JUDGED))
        for item in judged.findings:
            if rank(item.status) >= rank(WARN):
                found.append(_of_finding(item, _lines_of(item, partial)))
    if partial.series and not device.discrete:
        platform = Platform(catalogue.profiles()[SPARK] if device.spark else GENERIC)
        for item in judge_series(partial.series, platform):
            if rank(item.status) < rank(WARN):
                continue
            places = [int(place) for place in item.evidence]
            found.append(_of_finding(item, [partial.series_lines[place] for place in places]))
    return found


def _lines_of(item: Finding, partial: readings.Partial) -> list[Line]:
    """The lines of the sections that the finding's gotcha reads; those whose text it quotes first."""
    section = {"G1": "python", "G12": "python", "G10": "launch", "G17": "memory"}[item.gotcha]
    lines = list(partial.lines.get(section, ()))
    said = " ".join((item.message, *item.evidence))
    quoted = [
        line for line in lines if any(name in said for name in re.findall(r"\b[A-Z][A-Z0-9_]{3,}(?==)", line.text))
    ]
    return (quoted or lines)[:6]


def _of_finding(item: Finding, lines: Sequence[Line]) -> Diagnosis:
    entry = catalogue.gotchas()[item.gotcha]
    title = entry.get("code", {}).get(item.code.partition(".")[2], {}).get("title", entry["title"])
    evidence = tuple(Evidence(line.file, line.number, line.text) for line in lines)
    return Diagnosis(
        item.gotcha, item.code, title, item.confidence, evidence, item.fix, item.message, confirm=entry["check"]
    )
