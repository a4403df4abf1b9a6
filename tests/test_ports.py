"""Reading files: every answer is a value or the reason that there is none. Expected values are the test's own files."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gonogo.node.facts.missing import FAILED, NOT_FOUND, PERMISSION_DENIED, Missing
from gonogo.node.ports.files import LIMIT_BYTES, Files

LIVE = Files()


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """A read that blocks fails its test instead of stopping the run."""

    def late(*_: object) -> None:
        raise AssertionError("blocked")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _reason(answer: object) -> str:
    assert isinstance(answer, Missing)
    return answer.reason


# -- what a path may be -----------------------------------------------------------------------------------------------


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"caf\xe9\nvier")
    assert LIVE.read(str(path)) == b"caf\xe9\nvier"
    assert LIVE.text(str(path)) == "caf�\nvier"
    assert (LIVE.kind(str(path)), LIVE.exists(str(path))) == ("file", True)
    assert _reason(LIVE.names(str(path))) == NOT_FOUND


def test_a_folder(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).touch()
    assert LIVE.names(str(tmp_path)) == [".hidden", "a", "b"]
    assert LIVE.kind(str(tmp_path)) == "folder"
    # The words are the C library's: strerror(EISDIR).
    assert LIVE.read(str(tmp_path)) == Missing(FAILED, os.strerror(21))


def test_nothing_at_all(tmp_path: Path) -> None:
    path = str(tmp_path / "none" / "below")
    for answer in (LIVE.read(path), LIVE.text(path), LIVE.names(path), LIVE.kind(path), LIVE.resolve(path)):
        assert _reason(answer) == NOT_FOUND
    assert not LIVE.exists(path)
    below_a_file = tmp_path / "file"
    below_a_file.touch()
    assert _reason(LIVE.read(f"{below_a_file}/below")) == NOT_FOUND


def test_a_named_pipe_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert LIVE.kind(str(path)) == "other"
    assert LIVE.read(str(path)) == b""  # nobody writes
    # Somebody has it open and says nothing: there is no telling what will come.
    writer = os.open(path, os.O_RDWR)
    try:
        assert _reason(LIVE.read(str(path))) == FAILED
        os.write(writer, b"late")
        answer = LIVE.read(str(path))
        assert answer == b"late" or _reason(answer) == FAILED
    finally:
        os.close(writer)


def test_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may have 107 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert _reason(LIVE.read(str(tmp_path / "socket"))) == FAILED
        assert LIVE.kind(str(tmp_path / "socket")) == "other"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
def test_an_endless_device_is_cut() -> None:
    assert LIVE.read("/dev/zero") == bytes(LIMIT_BYTES)


def test_a_large_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"a" * LIMIT_BYTES + b"b")
    assert LIVE.read(str(path)) == b"a" * LIMIT_BYTES


@pytest.mark.parametrize("path", ["/a\0b", "/a\ud800b", "x" * 5000, ""])
def test_a_name_that_no_file_can_have(path: str) -> None:
    # Such a name may come out of an answer that somebody else's program gave.
    for answer in (LIVE.read(path), LIVE.text(path), LIVE.names(path), LIVE.kind(path)):
        assert _reason(answer) in (FAILED, NOT_FOUND)
    assert path == "" or _reason(LIVE.resolve(path)) in (FAILED, NOT_FOUND)


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = list(Path("/dev/fd").iterdir())
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path), str(tmp_path / "pipe"), str(tmp_path / "none"), __file__):
        LIVE.read(path)
        LIVE.names(path)
    after = list(Path("/dev/fd").iterdir())
    assert len(after) == len(before)


# -- permissions ------------------------------------------------------------------------------------------------------


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter; pytest's own are for their owner alone."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def nobody() -> Iterator[None]:
    """Not root: root may read everything."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    yield
    os.seteuid(was)


@pytest.fixture
def secrets(open_folder: Path) -> Path:
    (open_folder / "readable").write_text("yes")
    (open_folder / "file").write_text("no")
    (open_folder / "file").chmod(0)
    (open_folder / "folder").mkdir(mode=0)
    return open_folder


def test_permission_denied(secrets: Path, nobody: None) -> None:
    assert LIVE.text(str(secrets / "readable")) == "yes"
    assert LIVE.read(str(secrets / "file")) == Missing(PERMISSION_DENIED)
    assert LIVE.names(str(secrets / "folder")) == Missing(PERMISSION_DENIED)
    assert LIVE.read(str(secrets / "folder" / "any")) == Missing(PERMISSION_DENIED)
    assert LIVE.kind(str(secrets / "folder" / "any")) == Missing(PERMISSION_DENIED)
    assert LIVE.kind(str(secrets / "file")) == "file"


# -- links and the root -----------------------------------------------------------------------------------------------


def test_links_are_followed_to_their_end(tmp_path: Path) -> None:
    # The way of libcuda.so.1 on a real machine: two links in a row.
    (tmp_path / "libcuda.so.580.95.05").touch()
    (tmp_path / "libcuda.so.1").symlink_to("libcuda.so.580.95.05")
    (tmp_path / "libcuda.so").symlink_to("libcuda.so.1")
    assert LIVE.resolve(str(tmp_path / "libcuda.so")) == os.path.realpath(tmp_path / "libcuda.so.580.95.05")
    assert LIVE.kind(str(tmp_path / "libcuda.so")) == "file"


def test_broken_and_circular_links(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to("none")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert _reason(LIVE.resolve(str(tmp_path / "broken"))) == NOT_FOUND
    assert not LIVE.exists(str(tmp_path / "broken"))
    assert _reason(LIVE.resolve(str(tmp_path / "a"))) == FAILED
    assert _reason(LIVE.read(str(tmp_path / "a"))) == FAILED


@pytest.mark.parametrize("slash", ["", "/"])
def test_below_another_root(tmp_path: Path, slash: str) -> None:
    root = tmp_path.resolve()
    (root / "etc").mkdir()
    (root / "etc" / "dgx-release").write_text("DGX_NAME=x")
    (root / "etc" / "link").symlink_to("dgx-release")
    files = Files(f"{root}{slash}")
    assert files.text("/etc/dgx-release") == "DGX_NAME=x"
    assert files.names("/") == ["etc"]
    assert (files.kind("/"), files.kind("/etc/link")) == ("folder", "file")
    assert files.resolve("/etc/link") == "/etc/dgx-release"
    assert not files.exists("/etc/passwd") and not files.exists(str(root))
