"""The dynamic loader's cache, /etc/ld.so.cache (glibc's "glibc-ld.so.cache1.1" layout, elf/cache.c and dl-cache.h).

Header: 20 bytes of magic and version, then nlibs (u32), len_strings (u32), flags (u8), 3 bytes of padding, extension
offset (u32) and 12 unused bytes: 48 bytes. Then nlibs entries of 24 bytes: flags (i32), key (u32), value (u32),
osversion (u32), hwcap (u64); key and value are offsets of NUL-terminated strings from the header's start. An old
format cache ("ld.so-1.7.0") may stand before it.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER_BYTES = 48
_ENTRY_BYTES = 24

#: dl-cache.h FLAG_*: the upper bits name the machine whose programs may load the library.
_X86_64_LIB64 = 0x0300
_AARCH64_LIB64 = 0x0A00
_MACHINES = {_X86_64_LIB64: "x86_64", _AARCH64_LIB64: "aarch64"}


class CacheEntry(NamedTuple):
    """``name`` is the soname, ``machine`` is aarch64, x86_64 or "" for any other kind."""

    name: str
    path: str
    machine: str


def entries(content: bytes, prefix: str) -> list[CacheEntry]:
    """The entries whose soname begins with ``prefix``, in the cache's order; a truncated cache gives what it holds."""
    start = content.find(_MAGIC)
    wanted = prefix.encode("ascii", "replace")
    if start < 0 or len(content) < start + _HEADER_BYTES or wanted not in content:
        return []
    (count,) = struct.unpack_from("<I", content, start + len(_MAGIC))
    count = min(count, (len(content) - start - _HEADER_BYTES) // _ENTRY_BYTES)
    found = []
    for index in range(count):
        flags, key, value = struct.unpack_from("<iII", content, start + _HEADER_BYTES + index * _ENTRY_BYTES)
        if not content.startswith(wanted, start + key):
            continue
        name, path = _text(content, start + key), _text(content, start + value)
        if name and path:
            found.append(CacheEntry(name, path, _MACHINES.get(flags & 0xFF00, "")))
    return found


def _text(content: bytes, offset: int) -> str:
    if offset >= len(content):
        return ""
    end = content.find(b"\0", offset, offset + 4096)
    return os.fsdecode(content[offset:end]) if end > offset else ""
