"""Login records written by the offsets of glibc's <utmp.h>, for collectors to read."""

from __future__ import annotations

import struct

#: sizeof(struct utmp) where glibc's __WORDSIZE_TIME64_COMPAT32 is 1 (x86-64) and 0 (aarch64).
SIZES = {"x86-64": 384, "aarch64": 400}
BOOT, RUN_LEVEL, LOGIN = 2, 1, 7
OLD, NEW = "6.11.0-1016-nvidia", "6.17.0-1031-nvidia"


def record(size: int, kind: int, user: str, host: str, seconds: int, line: str = "~", name: str = "~~") -> bytes:
    """One struct utmp, little-endian, written by the offsets of <utmp.h>."""
    content = bytearray(size)
    struct.pack_into("<h2xi", content, 0, kind, 0)
    for offset, text in ((8, line), (40, name), (44, user), (76, host)):
        content[offset : offset + len(text)] = text.encode()
    struct.pack_into("<ii" if size == 384 else "<qq", content, 340 if size == 384 else 344, seconds, 999_999)
    return bytes(content)


def file(size: int, *rows: tuple[str, int] | tuple[str, int, str]) -> bytes:
    """A file of boots, shutdowns, run levels and logins: (what, seconds, kernel)."""
    content = b""
    for what, seconds, *kernel in rows:
        host = kernel[0] if kernel else NEW
        if what == "login":
            content += record(size, LOGIN, "someone", "192.0.2.7", seconds, "pts/0", "ts/0")
        elif what == "run level":
            content += record(size, RUN_LEVEL, "runlevel", host, seconds)
        else:
            content += record(size, BOOT if what == "reboot" else RUN_LEVEL, what, host, seconds)
    return content


HISTORY = (
    *(("reboot", 1795000000, OLD), ("run level", 1795000009), ("login", 1795000500), ("shutdown", 1795100000, OLD)),
    *(("reboot", 1795100100), ("login", 1795100300), ("reboot", 1795300000), ("login", 1795300100)),
)
BOOTS = [(1795300000, "running", NEW), (1795100100, "cut", NEW), (1795000000, "shutdown", OLD)]
