"""Weighing: causes before echoes, likelier ones first; what a machine with other memory would mean is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gonogo import catalogue
from gonogo.diagnosis.outcome import Diagnosis, Evidence, Note, Outcome
from gonogo.finding import CONFIDENCES, HIGH, LOW, FixStep, number
from gonogo.logs import device as devices
from gonogo.logs.matching import Match, Matcher, Sighting
from gonogo.logs.signatures import DISCRETE, ECHO, NOTE, UNIFIED, Signature


def weigh(
    signatures: Sequence[Signature], matcher: Matcher, device: devices.Device, readings: Sequence[Diagnosis] = ()
) -> Outcome:
    """The diagnoses of what ``matcher`` has taken in, with those that ``readings`` gave."""
    causes: list[tuple[Any, Diagnosis]] = []
    echoes: list[Sighting] = []
    notes: list[Note] = []
    for sighting in matcher.sightings(signatures):
        signature = sighting.signature
        if signature.kind == NOTE:
            notes.append(_note(sighting))
        elif signature.kind == ECHO:
            echoes.append(sighting)
        elif _fits(signature, device):
            causes.append(_ranked(_diagnosis(sighting, device), signature.weight, sighting.match.order))
    causes += [_ranked(item, 0, 0) for item in readings]
    ordered = _one_of_each([item for _, item in sorted(causes, key=lambda pair: pair[0])])
    if ordered:
        notes += [_note(echo) for echo in echoes]
    else:
        ordered = _one_of_each([_diagnosis(echo, device) for echo in sorted(echoes, key=lambda echo: echo.match.order)])
    return Outcome(tuple(ordered), tuple(notes), device)


def _fits(signature: Signature, device: devices.Device) -> bool:
    if signature.device == UNIFIED:
        return not device.discrete
    return not (signature.device == DISCRETE and device.unified)


def _ranked(item: Diagnosis, weight: int, order: int) -> tuple[tuple[int, int, int, int], Diagnosis]:
    return (CONFIDENCES.index(item.confidence), -weight, order, number(item.gotcha)), item


def _diagnosis(sighting: Sighting, device: devices.Device) -> Diagnosis:
    signature, match = sighting.signature, sighting.match
    unsure = bool(signature.device) and not device.memory
    entry = catalogue.gotchas()[signature.gotcha]
    code = entry.get("code", {}).get(signature.code, {})
    return Diagnosis(
        signature.gotcha,
        signature.full_code,
        code.get("title", entry["title"]),
        LOW if unsure else signature.confidence,
        tuple(dict.fromkeys(_evidence(item) for item in (match, *sighting.with_))),
        _steps(code, {**match.groups}),
        _sentence(signature.text, match.groups),
        signature.device if unsure else "",
        entry["check"],
    )


def _evidence(match: Match) -> Evidence:
    return Evidence(match.file, match.number, match.text)


def _note(sighting: Sighting) -> Note:
    match, signature = sighting.match, sighting.signature
    entry = catalogue.gotchas()[signature.gotcha].get("code", {}).get(signature.code, {})
    says = _sentence(signature.text, match.groups) or entry.get("title", "")
    return Note(signature.full_code, match.file, match.number, match.text, says)


class _Captured(dict[str, str]):
    """Captures; one that did not match is nothing."""

    def __missing__(self, name: str) -> str:
        return ""


def _sentence(template: str, captures: Mapping[str, str]) -> str:
    """The signature's sentence with its captures filled in."""
    return " ".join(template.format_map(_Captured(captures)).split())


def _filled(template: str, values: Mapping[str, str]) -> str | None:
    try:
        return template.format_map(values)
    except (KeyError, ValueError, IndexError):
        return None


def _steps(code: Mapping[str, Any], values: Mapping[str, str]) -> tuple[FixStep, ...]:
    steps = []
    for row in code.get("fix", ()):
        step, undo = _filled(row["step"], values), _filled(row.get("undo", ""), values)
        if step is not None:
            steps.append(FixStep(step, row["impact"], undo or ""))
    return tuple(steps)


def _one_of_each(ordered: Iterable[Diagnosis]) -> list[Diagnosis]:
    """The likeliest of each code; a second of the same gotcha only adds its lines as evidence."""
    found: dict[str, Diagnosis] = {}
    for item in ordered:
        first = found.get(item.gotcha)
        if first is None:
            found[item.gotcha] = item
        elif item.code == first.code or item.confidence == HIGH:
            merged = tuple(dict.fromkeys((*first.evidence, *item.evidence)))[:8]
            found[item.gotcha] = first._replace(evidence=merged)
    return list(found.values())
