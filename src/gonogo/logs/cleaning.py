"""A line as it was meant: without terminal escapes, without what a progress bar overwrote, as text."""

from __future__ import annotations

import re

#: What is kept of a line around the place that matters, in bytes.
LIMIT_BYTES = 4096

_ESCAPES = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)?|[PX^_][^\x1b]{0,1000}(?:\x1b\\)?|[ -/]*[0-~])"
)
_COLOURS = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def uncoloured(block: bytes) -> bytes:
    """``block`` without colours and cursor movements, which programs also put inside of a phrase."""
    return _COLOURS.sub(b"", block) if b"\x1b" in block else block


def window(start: int, length: int) -> tuple[int, int]:
    """Where to begin and end with at most LIMIT_BYTES of a line of this length, with what stands at ``start`` in it."""
    first = max(0, min(start - LIMIT_BYTES // 4, length - LIMIT_BYTES))
    return first, min(length, first + LIMIT_BYTES)


def clean(line: bytes) -> str:
    """``line`` as one line of text: nothing in it can move a cursor or change a colour."""
    if b"\x1b" in line:
        line = _ESCAPES.sub(b"", line)
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    if not text.isprintable():
        text = _CONTROL.sub("", text.replace("\t", " "))
    return text


def segments(line: bytes) -> list[bytes]:
    """What a terminal showed one after the other: the parts between carriage returns."""
    return [part for part in line.rstrip(b"\r\n").split(b"\r") if part] if b"\r" in line else [line]
