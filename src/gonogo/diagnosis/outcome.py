"""What a log came to, as plain data: diagnoses, notes, the device it is of."""

from __future__ import annotations

from typing import NamedTuple

from gonogo.finding import FixStep
from gonogo.logs.device import Device


class Evidence(NamedTuple):
    """A line that proves it. ``line`` counts from 1."""

    file: str
    line: int
    text: str


class Diagnosis(NamedTuple):
    """A named cause. ``if_device`` says on which machine it would be one, where the log names none."""

    gotcha: str
    code: str
    title: str
    confidence: str
    evidence: tuple[Evidence, ...]
    fix: tuple[FixStep, ...] = ()
    text: str = ""
    if_device: str = ""
    confirm: str = ""  # how to make sure of it


class Note(NamedTuple):
    """A harmless line, or an echo of what a diagnosis explains."""

    code: str
    file: str
    line: int
    text: str
    says: str


class Outcome(NamedTuple):
    """What was found, most likely first."""

    diagnoses: tuple[Diagnosis, ...]
    notes: tuple[Note, ...]
    device: Device
