"""/proc/self/mountinfo (proc(5)): one mount a line, octal escapes for blanks."""

from __future__ import annotations

import re
from typing import NamedTuple


class Mount(NamedTuple):
    """``subtree`` is the part of the filesystem that is mounted at ``point``."""

    subtree: str
    point: str
    filesystem: str
    source: str


def mountinfo(text: str) -> list[Mount]:
    """All mounts in the order of the file; malformed lines are passed over."""
    found = []
    for line in text.split("\n"):  # only a newline ends a mount: a name may hold any other separator
        left, dash, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if dash and len(before) >= 6 and len(after) >= 2:
            found.append(Mount(_plain(before[3]), _plain(before[4]), _plain(after[0]), _plain(after[1])))
    return found


def _plain(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8) & 0xFF), field)
