"""A loader cache (/etc/ld.so.cache) made by hand, as glibc's elf/cache.c and dl-cache.h lay it out, little-endian."""

from __future__ import annotations

import struct

#: dl-cache.h: FLAG_ELF_LIBC6 (3) and the bits of the machine.
X86_64, AARCH64, I386 = 0x0303, 0x0A03, 0x0003


def cache(rows: list[tuple[str, str, int]]) -> bytes:
    """The cache of (soname, path, flags)."""
    names, entries = b"", b""
    start = 48 + 24 * len(rows)
    for name, path, flags in rows:
        key = start + len(names)
        names += name.encode() + b"\0"
        value = start + len(names)
        names += path.encode() + b"\0"
        entries += struct.pack("<iIIIQ", flags, key, value, 0, 0)
    # cache_file_new: the flag 2 says little-endian.
    return b"glibc-ld.so.cache1.1" + struct.pack("<IIB3xI12x", len(rows), len(names), 2, 0) + entries + names
