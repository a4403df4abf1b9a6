"""Opening what is to be read: plain or compressed, a file or standard input, in blocks of bytes."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from gonogo.logs.scanning import BLOCK_BYTES

_GZIP, _XZ, _BZIP2, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd"
#: Names of files in a run folder that are worth reading, and how many of them at most.
LOG_ENDINGS = (".log", ".out", ".err", ".txt", ".stdout", ".stderr", ".csv", ".json", ".jsonl", ".yaml", ".yml", ".sh")
PACKED_ENDINGS = (".gz", ".xz", ".zst", ".bz2")
MOST_FILES = 2000


class Unreadable(Exception):
    """The input cannot be read; the message is one line."""


def files_of(path: Path) -> list[Path]:
    """The files to read of ``path``: itself, or the logs below a folder, in order of name. Raises Unreadable."""
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    for folder, folders, names in os.walk(path, onerror=None, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            bare = name.lower()
            for ending in PACKED_ENDINGS:
                bare = bare.removesuffix(ending)
            if bare.endswith(LOG_ENDINGS) or ".log." in bare:
                found.append(Path(folder) / name)
        if len(found) > MOST_FILES:
            break
    if not found:
        raise Unreadable(f"{path}: no log file in this folder ({', '.join(LOG_ENDINGS)})")
    return found[:MOST_FILES]


def open_file(path: Path) -> IO[bytes]:
    """The file, to be read from its start. Raises OSError; Unreadable for what is no file and no pipe."""
    kind = path.stat().st_mode
    if stat.S_ISDIR(kind) or stat.S_ISSOCK(kind) or stat.S_ISBLK(kind):
        raise Unreadable("neither a file nor a pipe")
    return path.open("rb", buffering=0)


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """The bytes of ``stream``, unpacked where they are packed. Raises Unreadable for broken packing.

    What was there is handed out as it comes: a pipe is not waited for until a block is full.
    """
    read = getattr(stream, "read1", stream.read)
    head = b""
    while len(head) < 6:
        more = read(BLOCK_BYTES)
        if not more:
            break
        head += more
    unpacked = _unpacked(head, stream)
    if unpacked is None:
        while head:
            yield head
            head = read(BLOCK_BYTES)
        return
    try:
        while True:
            block = unpacked.read(BLOCK_BYTES)
            if not block:
                return
            yield block
    except (OSError, EOFError, ValueError) as error:
        raise Unreadable(f"broken compression: {error}") from None
    except Exception as error:  # lzma.LZMAError, zlib.error, ZstdError: each library has its own
        raise Unreadable(f"broken compression: {error}") from None


class _Joined(io.RawIOBase):
    """What was read already, then the rest of the stream."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        wanted = len(buffer)
        data = self._head[:wanted] or self._stream.read(wanted) or b""
        self._head = self._head[wanted:]
        buffer[: len(data)] = data
        return len(data)


def _unpacked(head: bytes, stream: IO[bytes]) -> Any:
    """A reader of the unpacked bytes; None for an input that is not packed. Raises Unreadable."""
    whole = io.BufferedReader(_Joined(head, stream), 1 << 16)
    if head.startswith(_GZIP):
        import gzip

        return gzip.GzipFile(fileobj=whole)
    if head.startswith(_XZ):
        import lzma

        return lzma.LZMAFile(whole)
    if head.startswith(_BZIP2) and head[3:4].isdigit():
        import bz2

        return bz2.BZ2File(whole)
    if head.startswith(_ZSTD):
        return _zstandard(whole)
    return None


def _zstandard(whole: Any) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14

        return zstd.ZstdFile(whole)
    except ImportError:
        pass
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise Unreadable("zstd needs Python 3.14 or the package zstandard: unpack it first (zstd -d)") from None
    return zstandard.ZstdDecompressor().stream_reader(whole, read_across_frames=True)
