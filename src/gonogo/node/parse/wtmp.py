"""Login records (wtmp): when the machine was started and shut down. Nothing of any login is kept.

Everywhere in glibc a record begins with ut_type and has ut_line at 8, ut_id at 40, ut_user at 44, ut_host at 76. The
time differs: 384 bytes with 32-bit seconds at 340 on x86-64, 400 bytes with 64-bit seconds at 344 on aarch64
(__WORDSIZE_TIME64_COMPAT32 of bits/wordsize.h). Records are found by what systemd and init write into them.
"""

from __future__ import annotations

import re
import struct
from typing import Any, Iterable, Sequence

#: ut_id "~~" and the user's name of the two records that count.
_MARK = re.compile(rb"~~\0\0(reboot|shutdown)\0")
_BEFORE, _HOST, _SECONDS_32, _SECONDS_64, _LEAST = 40, 76, 340, 344, 352
_TYPES = {b"reboot": b"\x02\0", b"shutdown": b"\x01\0"}  # BOOT_TIME, RUN_LVL


def records(content: bytes) -> list[list[Any]]:
    """``[kind, seconds since 1970, kernel release]`` in the order of the file; kind is boot or shutdown."""
    found: list[list[Any]] = []
    for mark in _MARK.finditer(content):
        start, user = mark.start() - _BEFORE, mark.group(1)
        if start < 0 or start + _LEAST > len(content) or content[start : start + 2] != _TYPES[user]:
            continue
        (seconds,) = struct.unpack_from("<I", content, start + _SECONDS_32)
        if seconds == 0:  # the upper half of a 64-bit ut_session
            (seconds,) = struct.unpack_from("<q", content, start + _SECONDS_64)
        if not 0 <= seconds < 1 << 40:
            continue
        kernel = content[start + _HOST : start + _SECONDS_32 - 8].partition(b"\0")[0].decode("utf-8", "replace")
        found.append(["boot" if user == b"reboot" else "shutdown", seconds, kernel])
    return found


def boots(rows: Iterable[Sequence[Any]], most: int = 10) -> list[tuple[int, str, str]]:
    """Start, ending and kernel of each boot, newest first, by the rule of last(1).

    A boot that is followed by a boot without a shutdown between was cut. The newest is running, or was shut down where
    that is the last record.
    """
    found: list[tuple[int, str, str]] = []
    shutdown = False
    for kind, seconds, kernel in rows:
        if kind == "boot":
            if found:
                found[-1] = (found[-1][0], "shutdown" if shutdown else "cut", found[-1][2])
            found.append((seconds, "running", kernel))
        shutdown = kind == "shutdown"
    if found and shutdown:
        found[-1] = (found[-1][0], "shutdown", found[-1][2])
    return found[::-1][:most]
