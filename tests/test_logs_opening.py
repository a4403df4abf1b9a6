"""Opening inputs: what gzip, xz, bzip2, zstd, iconv and zip of the system made, whole, cut off and damaged."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gonogo.logs import opening

#: Three megabytes that hardly pack, so that half of the packed file is about half of the text.
TEXT = b"".join(b"%d %s\n" % (n, hashlib.sha256(b"%d" % n).hexdigest().encode()) for n in range(42_000))
PROGRAMS = [["gzip", "-c"], ["xz", "-1", "-c"], ["bzip2", "-1", "-c"], ["zstd", "-q", "-c"]]


def packed(program: list[str], text: bytes = TEXT) -> bytes:
    if shutil.which(program[0]) is None:
        pytest.skip(f"no {program[0]} here")
    if program[0] == "zstd" and sys.version_info < (3, 14):
        pytest.importorskip("zstandard")
    return subprocess.run(program, input=text, stdout=subprocess.PIPE, check=True).stdout


def taken(content: bytes) -> tuple[bytes, str]:
    """What is handed out, and how it ended."""
    return taken_from(io.BytesIO(content))


def taken_from(stream: io.BytesIO | io.RawIOBase) -> tuple[bytes, str]:
    found = b""
    try:
        for block in opening.blocks(stream):
            assert block
            found += block
    except opening.Unreadable as error:
        return found, str(error)
    return found, ""


class Trickling(io.RawIOBase):
    """Hands out few bytes at a time, as a pipe may."""

    def __init__(self, content: bytes, size: int) -> None:
        self._rest, self._size = content, size

    def read(self, size: int = -1) -> bytes:
        part, self._rest = self._rest[: self._size], self._rest[self._size :]
        return part


# -- packed ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0])
def test_packed_by_the_system_s_programs(program: list[str], tmp_path: Path) -> None:
    content = packed(program)
    assert taken(content) == (TEXT, "")
    (tmp_path / "log").write_bytes(content)  # by its content, whatever its name
    with opening.open_file(tmp_path / "log") as stream:
        assert b"".join(opening.blocks(stream)) == TEXT
    # Appended to, as logrotate and parallel packers do.
    assert taken(content + packed(program, b"more\n")) == (TEXT + b"more\n", "")
    assert taken(packed(program, b"")) == (b"", "")
    for size in (1, 5, 7):
        short = packed(program, b"a line\n")
        assert taken_from(Trickling(short, size)) == (b"a line\n", "")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0])
def test_cut_off(program: list[str]) -> None:
    # A machine that lost power while it packed: what is there counts, and it is said that more is missing.
    content = packed(program)
    found, ended = taken(content[: len(content) // 2])
    assert TEXT.startswith(found)
    assert len(found) > len(TEXT) * 0.4
    assert ended.startswith("broken compression: ")
    for short in (7, 10, 17):
        assert taken(content[:short])[0] == b""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0])
def test_damaged(program: list[str]) -> None:
    content = bytearray(packed(program))
    middle = len(content) // 2
    content[middle : middle + 2000] = b"\xff" * 2000
    found, ended = taken(bytes(content))
    assert ended.startswith("broken compression: ")
    assert "\n" not in ended
    assert found[: len(TEXT) // 4] == TEXT[: len(TEXT) // 4]


def test_zstd_without_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compression", "compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "zstd -d" in taken(b"\x28\xb5\x2f\xfd....")[1]


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(
        [b"", b"\x1f\x8b\x08", b"\xfd7zXZ\x00", b"BZh9", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xfe\xff", b"PK"]
    ),
    st.binary(max_size=200),
)
def test_anything_is_read_or_refused(head: bytes, rest: bytes) -> None:
    found, ended = taken(head + rest)
    assert "\n" not in ended
    if head == b"" and not ended and (rest[:2] not in (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b")):
        assert found == rest


# -- wide text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("UTF-16", b""), ("UTF-16LE", b"\xff\xfe"), ("UTF-16BE", b"\xfe\xff"), ("UTF-16LE", b""), ("UTF-16BE", b"")],
)
def test_wide_text_by_iconv(encoding: str, mark: bytes) -> None:
    # What PowerShell's > writes. iconv's UTF-16 puts the mark there itself.
    text = "2026-11-30 10:00:00 ERROR in the trainer: CUDA error: Gerät 0 温度 \U0001f525\r\nXid 79\n" * 50
    wide = mark + packed(["iconv", "-f", "UTF-8", "-t", encoding], text.encode())
    assert taken(wide)[0].decode("utf-8-sig") == text
    for size in (7, 100) if mark else (100,):  # without its mark a few letters are needed
        assert taken_from(Trickling(wide, size))[0].decode("utf-8-sig") == text


# -- what is no log ----------------------------------------------------------------------------------------------------


def test_a_program_is_refused() -> None:
    with opening.open_file(Path(sys.executable).resolve()) as stream, pytest.raises(opening.Unreadable, match="ELF"):
        list(opening.blocks(stream))


@pytest.mark.skipif(shutil.which("zip") is None, reason="no zip here")
def test_a_zip_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("text\n")
    subprocess.run(["zip", "-q", "run.zip", "run.log"], cwd=tmp_path, check=True)
    assert taken((tmp_path / "run.zip").read_bytes()) == (b"", "a zip archive: unpack it first")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"LPKSHHRH" + bytes(300), "journalctl --file"),  # systemd's journal-def.h: HEADER_SIGNATURE
        (b"\x89PNG\r\n\x1a\n" + bytes(8), "picture"),
        (b"\xff\xd8\xff\xe0" + b"JFIF", "picture"),
        (b"%PDF-1.7\n", "PDF"),
        (b"SQLite format 3\0" + bytes(90), "database"),  # an nsys report
        (bytes(10_000), "binary"),
        (b"\x01\x00\x02\x00" * 1000, "binary"),
    ],
)
def test_refused_with_a_way_out(content: bytes, word: str) -> None:
    found, ended = taken(content)
    assert found == b""
    assert word in ended


@pytest.mark.skipif(shutil.which("journalctl") is None, reason="no systemd here")
def test_a_journal_file_of_this_machine() -> None:
    journals = sorted(Path("/var/log/journal").glob("*/*.journal")) + sorted(
        Path("/run/log/journal").glob("*/*.journal")
    )
    if not journals or not os.access(journals[0], os.R_OK):
        pytest.skip("no journal that may be read")
    with opening.open_file(journals[0]) as stream, pytest.raises(opening.Unreadable, match="journalctl --file"):
        list(opening.blocks(stream))


def test_text_with_a_run_of_nul_bytes_is_a_log() -> None:
    # A log that was being written when the power failed.
    log = b"step 1\nstep 2\n" + bytes(6000) + b"\nXid 79\n"
    assert taken(log) == (log, "")
    assert taken(bytes(300) + b"short") == (bytes(300) + b"short", "")


def test_what_is_no_file(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.log"))
        with pytest.raises(opening.Unreadable, match="neither a file nor a pipe"):
            opening.open_file(tmp_path / "s.log")
    with pytest.raises(opening.Unreadable):
        opening.open_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        opening.open_file(tmp_path / "missing")


# -- pipes -------------------------------------------------------------------------------------------------------------


def test_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TEXT))
    writer.start()
    with opening.open_file(pipe) as stream:
        assert b"".join(opening.blocks(stream)) == TEXT
    writer.join()


def test_a_pipe_is_not_waited_for_until_a_block_is_full() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", buffering=0) as stream:
        blocks = opening.blocks(stream)
        os.write(writer, b"first line\n")
        assert next(blocks) == b"first line\n"
        os.write(writer, b"second")
        assert next(blocks) == b"second"
        os.close(writer)
        assert list(blocks) == []


def test_a_pipe_that_does_not_block() -> None:
    # Some parents leave standard input so; an empty pipe is not its end.
    reader, writer = os.pipe()
    os.set_blocking(reader, False)

    def write() -> None:
        for part in (b"one\n", b"two\n"):
            time.sleep(0.05)
            os.write(writer, part)
        os.close(writer)

    thread = threading.Thread(target=write)
    with os.fdopen(reader, "rb", buffering=0) as stream:
        thread.start()
        assert b"".join(opening.blocks(stream)) == b"one\ntwo\n"
    thread.join()


# -- folders -----------------------------------------------------------------------------------------------------------


def test_the_logs_below_a_folder(tmp_path: Path) -> None:
    wanted = [
        "a.log",
        "b/rank0.OUT",
        "b/rank1.err",
        "b/slurm-12.out",
        "c/server.log.1",
        "c/server.log.2.gz",
        "d/x.jsonl",
    ]
    wanted += ["d/y.csv.zst", "train.sh", "z/deep/er/run.txt"]
    others = ["model.safetensors", "b/core", "weights.bin.gz", ".git/hooks/x.sh", ".venv/log.txt", "x.logs"]
    for name in wanted + others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "b" / "self.log").symlink_to("self.log")
    (tmp_path / "b" / "broken.log").symlink_to("nowhere")
    (tmp_path / "b" / "folder.log").mkdir()
    os.mkfifo(tmp_path / "b" / "pipe.log")  # to open it would wait for ever
    found = [str(path.relative_to(tmp_path)) for path in opening.files_of(tmp_path, [])]
    assert sorted(found) == sorted(wanted)
    assert found == [str(path.relative_to(tmp_path)) for path in opening.files_of(tmp_path, [])]
    assert opening.files_of(tmp_path / "b" / "core", []) == [tmp_path / "b" / "core"]  # named by the user


def test_a_folder_without_logs(tmp_path: Path) -> None:
    (tmp_path / "picture.png").touch()
    with pytest.raises(opening.Unreadable, match=r"no log file in this folder .*\.log"):
        opening.files_of(tmp_path, [])


def test_not_more_files_than_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST_FILES", 10)
    for number in range(30):
        (tmp_path / f"{number:02}.log").touch()
    problems: list[str] = []
    assert [path.stem for path in opening.files_of(tmp_path, problems)] == [f"{number:02}" for number in range(10)]
    assert problems == [f"{tmp_path} holds more than 10 logs: only the first of them are read"]
