"""Byte sizes: reading what people type, writing what they read."""

from __future__ import annotations

import re

GIB = 1 << 30

_FACTORS = {
    **{"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40},
    **{"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40},
    **{"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "b": 1},
}


def parse_size(text: str) -> int:
    """Bytes of "70GiB", "70GB" or "70G" (bare letters are binary, as in free -g and docker). Raises ValueError."""
    found = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*([kmgt]?i?b?)\s*", text.lower())
    if not found or found.group(2) not in _FACTORS:
        raise ValueError(f"{text!r} is no size: write 70GiB, 70GB or a number of bytes")
    whole, _, fraction = found.group(1).partition(".")
    scale: int = 10 ** len(fraction)
    size = int(whole + fraction) * _FACTORS[found.group(2)] // scale  # exact, unlike floating point
    if size <= 0:
        raise ValueError("a size must be more than nothing")
    return size


def gib(size_bytes: int) -> str:
    """GiB with one decimal: 101.3."""
    return f"{size_bytes / GIB:.1f}"


def version_parts(version: str) -> tuple[int, ...]:
    """(13, 0) of "13.0": the leading whole numbers; empty for none."""
    parts = []
    for part in version.split("."):
        digits = re.match(r"[0-9]{1,6}", part)
        if digits is None:
            break
        parts.append(int(digits.group(0)))
        if digits.group(0) != part:
            break
    return tuple(parts)
