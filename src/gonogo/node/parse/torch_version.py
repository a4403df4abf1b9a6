"""torch/version.py without running it: a handful of assignments of literals."""

from __future__ import annotations

import re

_ASSIGNMENT = re.compile(
    r"^(__version__|version|cuda|hip|git_version)[ \t]*(?::[^=\n]*)?=[ \t]*(?:(None)|u?'([^'\n]*)'|u?\"([^\"\n]*)\")",
    re.MULTILINE,
)


def read(text: str) -> dict[str, str | None]:
    """``{"version": "2.9.1+cu130", "cuda": "13.0", "hip": None, ...}`` of what is assigned; None for None."""
    found: dict[str, str | None] = {}
    for name, none, single, double in _ASSIGNMENT.findall(text):
        key = "version" if name == "__version__" else name
        if key == "version" and name != "__version__" and "version" in found:
            continue
        found[key] = None if none else single or double
    return found
