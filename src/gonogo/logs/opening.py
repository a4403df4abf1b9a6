"""Opening what is to be read: plain or compressed, a file or standard input, in blocks of bytes."""

from __future__ import annotations

import codecs
import io
import os
import select
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from gonogo.logs.scanning import BLOCK_BYTES

_GZIP, _XZ, _BZIP2, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd"
#: So much of zstd is unpacked at once: into 16 MiB at most.
_PACKED_BYTES = 512
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
#: Files that are handed in by mistake, by their first bytes.
_BINARY = {
    b"LPKSHHRH": "a journal file: journalctl --file FILE | gonogo diagnose -",
    b"\x7fELF": "a program or library (ELF), no log",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\x89PNG": "a picture: the text is needed",
    b"\xff\xd8\xff": "a picture: the text is needed",
    b"%PDF": "a PDF: the text is needed",
    b"SQLite format 3": "a database, no log",
}
#: Names of files in a run folder that are worth reading, and how many of them at most.
LOG_ENDINGS = (".log", ".out", ".err", ".txt", ".stdout", ".stderr", ".csv", ".json", ".jsonl", ".yaml", ".yml", ".sh")
PACKED_ENDINGS = (".gz", ".xz", ".zst", ".bz2")
MOST_FILES = 20_000


class Unreadable(Exception):
    """The input cannot be read; the message is one line."""


def files_of(path: Path, problems: list[str]) -> list[Path]:
    """The files to read of ``path``: itself, or the logs below a folder, in order of name. Raises Unreadable.

    ``problems`` gets a line for each folder that is closed to us, and where there are too many files to read all.
    """
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    before = len(problems)
    os.scandir(path).close()  # PermissionError where it is closed to us

    def closed(error: OSError) -> None:
        problems.append(f"cannot read {error.filename}: {error.strerror}")

    for folder, folders, names in os.walk(path, onerror=closed, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            bare = name.lower()
            for ending in PACKED_ENDINGS:
                bare = bare.removesuffix(ending)
            if (bare.endswith(LOG_ENDINGS) or ".log." in bare) and (Path(folder) / name).is_file():  # a pipe waits
                found.append(Path(folder) / name)
        if len(found) > MOST_FILES:
            problems.append(f"{path} holds more than {MOST_FILES} logs: only the first of them are read")
            break
    if not found and len(problems) > before:
        raise Unreadable("no log file in what may be read of this folder")
    if not found:
        raise Unreadable(f"no log file in this folder ({', '.join(LOG_ENDINGS)})")
    return found[:MOST_FILES]


def open_file(path: Path) -> IO[bytes]:
    """The file, to be read from its start. Raises OSError; Unreadable for what is no file and no pipe."""
    kind = path.stat().st_mode
    if stat.S_ISDIR(kind) or stat.S_ISSOCK(kind) or stat.S_ISBLK(kind):
        raise Unreadable("neither a file nor a pipe")
    return path.open("rb", buffering=0)


def is_plain(path: Path) -> bool:
    """A file of text that is read as it stands. Raises OSError, and Unreadable for what is known to be no text."""
    with open_file(path) as stream:
        head = stream.read(8192)
    _refuse(head)
    packed = head.startswith((_GZIP, _XZ, _BZIP2, _ZSTD))
    return path.is_file() and not packed and not _wide(head)


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """The bytes of ``stream``, unpacked where they are packed. Raises Unreadable for broken packing.

    What was there is handed out as it comes: a pipe is not waited for until a block is full.
    """
    read = _reader(stream)
    head = b""
    while len(head) < 6:
        more = read(BLOCK_BYTES)
        if not more:
            break
        head += more
    _refuse(head)
    unpacked = _unpacked(head, read)
    if unpacked is None:
        wide = _wide(head)
        plain = _stream(head, read)
        yield from _narrowed(plain, wide) if wide else plain
        return
    try:
        while True:
            block = unpacked.read1(BLOCK_BYTES)
            if not block:
                return
            yield block
    except (OSError, EOFError, ValueError) as error:
        raise Unreadable(f"broken compression: {error}") from None
    except Exception as error:  # lzma.LZMAError, zlib.error, ZstdError: each library has its own
        raise Unreadable(f"broken compression: {error}") from None


def _reader(stream: IO[bytes]) -> Callable[[int], bytes]:
    """How to take what is there, at least a byte, nothing at the end."""
    read: Callable[[int], bytes | None] = getattr(stream, "read1", stream.read)

    def take(size: int) -> bytes:
        while (data := read(size)) is None:  # a pipe that somebody set to not waiting
            select.select([stream], [], [])
        return data

    return take


def _stream(head: bytes, read: Callable[[int], bytes]) -> Iterator[bytes]:
    while head:
        yield head
        head = read(BLOCK_BYTES)


def _wide(head: bytes) -> str | None:
    """UTF-16, by its mark, or by letters of ASCII with a zero beside each at its start."""
    first, second = head[:64:2], head[1:64:2]
    if head[:2] in _UTF_16 or len(head) < 16:
        return _UTF_16.get(head[:2])
    if not any(second) and min(first) >= 9 and max(first) < 127:
        return "utf-16-le"
    return "utf-16-be" if not any(first) and min(second) >= 9 and max(second) < 127 else None


def _narrowed(stream: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """UTF-16, as PowerShell's redirection writes it, as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in stream:
        yield decoder.decode(block).encode("utf-8", "replace")


def _refuse(head: bytes) -> None:
    """Raises Unreadable for what is known to be no text, with the way to get at its text where there is one."""
    for magic, says in _BINARY.items():
        if head.startswith(magic):
            raise Unreadable(says)
    start = head[:8192]
    # A log that was cut by a power failure has runs of NUL bytes; a program's data has them everywhere.
    if len(start) >= 512 and start.count(0) > len(start) // 3 and b"\n" not in start and not _wide(head):
        raise Unreadable("a binary file, no log")


class _Joined(io.RawIOBase):
    """What was read already, then the rest of the stream."""

    def __init__(self, head: bytes, read: Callable[[int], bytes]) -> None:
        self._head, self._read = head, read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        wanted = len(buffer)
        data = self._head[:wanted] or self._read(wanted)
        self._head = self._head[wanted:]
        buffer[: len(data)] = data
        return len(data)


def _unpacked(head: bytes, read: Callable[[int], bytes]) -> Any:
    """A reader of the unpacked bytes; None for an input that is not packed. Raises Unreadable."""
    whole = io.BufferedReader(_Joined(head, read), 1 << 16)
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
    return _Zstandard(whole, zstandard.ZstdDecompressor())


class _Zstandard:
    """Frame after frame. The library's own reader says nothing of an input that ends within a frame."""

    def __init__(self, whole: Any, library: Any) -> None:
        self._whole, self._library = whole, library
        self._frame: Any = None
        self._rest = self._data = b""

    def read1(self, size: int) -> bytes:
        """What the next bytes unpack to; nothing at the end. Raises EOFError within a frame."""
        while not self._data:
            packed = self._rest or self._whole.read1(_PACKED_BYTES)
            self._rest = b""
            if not packed:
                if self._frame is not None:
                    raise EOFError("the file ends before its frame does")
                return b""
            self._frame = self._frame or self._library.decompressobj()
            self._data = self._frame.decompress(packed)
            if self._frame.eof:
                self._rest, self._frame = self._frame.unused_data, None
        data, self._data = self._data[:size], self._data[size:]
        return data
