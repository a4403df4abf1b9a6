"""What ``gonogo diagnose`` reads: files, folders, pipes; missing, closed, damaged, endless and very large ones."""

from __future__ import annotations

import fcntl
import gzip
import io
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from refusal import refused

from gonogo.cli import _progress

NO_RUNTIME = "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n"
Run = Callable[..., Any]


def document(completed: Any) -> dict[str, Any]:
    assert "Traceback" not in completed.stderr
    loaded: dict[str, Any] = json.loads(completed.stdout)
    return loaded


def gotchas(completed: Any) -> list[str]:
    return [item["gotcha"] for item in document(completed)["diagnoses"]]


# -- several inputs ---------------------------------------------------------------------------------------------------


def test_a_missing_file_among_good_ones(gonogo: Run, tmp_path: Path) -> None:
    good, other = tmp_path / "good.log", tmp_path / "other.log"
    good.write_text("step 1\n")
    other.write_text(NO_RUNTIME)
    empty = tmp_path / "folder"
    empty.mkdir()
    bad = ["missing.log", str(empty), sys.executable, "/" + "x" * 300]
    completed = gonogo("diagnose", bad[0], str(good), *bad[1:], str(other), "--format", "json")
    found = document(completed)
    assert (completed.returncode, gotchas(completed)) == (1, ["G1"])
    assert found["files"] == [str(good), str(other)]
    assert [problem.startswith(f"cannot read {path}: ") for path, problem in zip(bad, found["problems"], strict=True)]
    assert completed.stderr.count("\n") == len(bad)
    for words in ("No such file", "no log file in this folder", "ELF", "name too long"):
        assert words in completed.stderr
    refused(gonogo("diagnose", "missing.log"), "cannot read missing.log: No such file or directory")
    nothing = gonogo("diagnose", "missing.log", "neither.log")
    assert (nothing.returncode, nothing.stdout, nothing.stderr.count("\n")) == (2, "", 3)


def test_inputs_are_read_in_the_order_given(gonogo: Run, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(f"line of {name}\n")
    names = [str(tmp_path / name) for name in "cab"]
    found = document(gonogo("diagnose", names[0], "-", *names[1:], "--format", "json", input="x\n"))
    assert found["files"] == [names[0], "<stdin>", *names[1:]]
    assert (found["lines_read"], found["bytes_read"]) == (4, 32)
    # A second - finds the first one's end.
    assert document(gonogo("diagnose", "-", "-", "--format", "json", input=NO_RUNTIME))["lines_read"] == 1


def test_an_empty_input(gonogo: Run) -> None:
    for arguments in (("-",), ("/dev/null",), ("/dev/stdin",)):
        completed = gonogo("diagnose", *arguments)
        assert (completed.returncode, completed.stderr) == (0, "")
        assert completed.stdout.startswith("nothing known was found in 0 lines, 0 bytes of ")


def test_a_run_folder(gonogo: Run, tmp_path: Path) -> None:
    (tmp_path / "run" / "ranks").mkdir(parents=True)
    (tmp_path / "run" / "ranks" / "1.log.gz").write_bytes(gzip.compress(NO_RUNTIME.encode()))
    (tmp_path / "run" / "0.log").write_text("step 1\n")
    (tmp_path / "run" / "model.bin").write_text(NO_RUNTIME)
    (tmp_path / "run" / "loop").symlink_to(tmp_path)
    (tmp_path / "run" / "self.log").symlink_to("self.log")
    completed = gonogo("diagnose", "run", "--format", "json", cwd=tmp_path)
    assert document(completed)["files"] == ["run/0.log", "run/ranks/1.log.gz"]
    assert document(completed)["diagnoses"][0]["evidence"][0]["file"] == "run/ranks/1.log.gz"
    refused(gonogo("diagnose", str(tmp_path / "run" / "self.log")), "Too many levels of symbolic links")


@pytest.mark.parametrize(
    "name", ["-x.log", "with\nnewline.log", "\x1b[31mred.log", "温度.log", "\udcff.log", "a b.log"]
)
def test_names_of_files(gonogo: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(NO_RUNTIME)
    for output_format in ("text", "json", "markdown"):
        completed = gonogo("diagnose", "--format", output_format, "--", name, cwd=tmp_path)
        assert (completed.returncode, completed.stderr) == (1, "")
        assert all(letter.isprintable() or letter in "\n\u200b" for letter in completed.stdout)
    assert gonogo("diagnose", str(tmp_path), "missing", cwd=tmp_path).returncode == 1


def test_what_others_may_not_read(somebody: Run) -> None:
    folder: Path = somebody.folder  # type: ignore[attr-defined]
    for name in ("open.log", "closed.log", "shut/in.log", "part/good.log", "part/bad.log"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(NO_RUNTIME)
    for name, mode in (("closed.log", 0), ("part/bad.log", 0), ("shut", 0)):
        (folder / name).chmod(mode)
        if os.geteuid() == 0:
            os.chown(folder / name, 0, 0)
    refused(somebody("diagnose", "closed.log"), "cannot read closed.log: Permission denied")
    refused(somebody("diagnose", "shut"), "cannot read shut: Permission denied")
    completed = somebody("diagnose", "open.log", "closed.log", "shut", "part", "--format", "json")
    found = document(completed)
    assert (completed.returncode, found["files"]) == (1, ["open.log", "part/good.log"])
    assert [problem.split(":")[0] for problem in found["problems"]] == [
        f"cannot read {name}" for name in ("closed.log", "shut", "part/bad.log")
    ]
    (folder / "shut").chmod(0o700)


def test_a_packed_file_that_breaks_off(gonogo: Run, tmp_path: Path) -> None:
    text = NO_RUNTIME.encode() + os.urandom(200_000).hex().encode() + b"\n"
    (tmp_path / "log.gz").write_bytes(gzip.compress(text)[:60_000])
    completed = gonogo("diagnose", str(tmp_path / "log.gz"), "--format", "json")
    assert (completed.returncode, gotchas(completed)) == (1, ["G1"])
    assert f"cannot read {tmp_path / 'log.gz'} to its end: broken compression: " in completed.stderr
    assert document(completed)["files"] == [str(tmp_path / "log.gz")]


# -- standard streams -------------------------------------------------------------------------------------------------


def test_pipes_of_the_shell(gonogo: Run, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(NO_RUNTIME)
    shell = f'exec bash -c \'cat {tmp_path}/log | "$@" - <(echo step) --format json < {tmp_path}/log\' bash "$@"'
    completed = gonogo("diagnose", shell=shell)
    assert (completed.returncode, gotchas(completed)) == (1, ["G1"])
    assert document(completed)["lines_read"] == 2


@pytest.mark.parametrize(
    ("closed", "words"), [("<&-", "standard input is closed"), (">&-", "standard output is closed")]
)
def test_streams_that_are_closed(gonogo: Run, closed: str, words: str) -> None:
    refused(gonogo("diagnose", "-", input=NO_RUNTIME, shell=f'exec "$@" {closed}'), words)
    assert gonogo("diagnose", "-", input=NO_RUNTIME, shell='exec "$@" 2>&-').returncode == 1


def test_a_reader_that_has_gone(gonogo: Run) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    completed = gonogo("diagnose", "-", input=NO_RUNTIME, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (completed.returncode, completed.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_standard_output_is_full(gonogo: Run) -> None:
    with Path("/dev/full").open("w") as full:
        completed = gonogo("diagnose", "-", input=NO_RUNTIME, stdout=full, stderr=subprocess.PIPE)
    assert (completed.returncode, completed.stderr.count("\n")) == (2, 1)
    assert "No space left" in completed.stderr


def test_what_is_typed_into_a_terminal() -> None:
    keyboard, terminal = pty.openpty()
    os.write(keyboard, NO_RUNTIME.encode() + b"\x04")
    command = [sys.executable, "-m", "gonogo", "diagnose", "-"]
    completed = subprocess.run(command, stdin=terminal, capture_output=True, text=True, timeout=60, check=False)
    os.close(keyboard)
    os.close(terminal)
    assert (completed.returncode, completed.stderr.count("Ctrl-D")) == (1, 1)
    assert completed.stdout.startswith("likely: G1")


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_a_terminal_and_gone_at_the_end(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_progress, "PATIENCE_SECONDS", 0)
    assert list(_progress.shown(iter([b"a" * 5, b"b"]), "\x1b[31mred.log")) == [b"aaaaa", b"b"]
    lines = stream.getvalue().split("\r\x1b[K")
    assert lines == (["", "0.0 GB of \\x1b[31mred.log"] * 1 + ["0.0 GB of \\x1b[31mred.log", ""] if terminal else [""])


# -- interrupted ------------------------------------------------------------------------------------------------------


def started(*arguments: str, env: Any = None, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gonogo", "diagnose", *arguments, "--format", "json"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env={"PATH": "/usr/bin:/bin", **(env or {})}, **{**pipes, **options})


def until(met: Callable[[], bool]) -> None:
    for _ in range(3000):
        if met():
            time.sleep(0.2)  # what was handed over is also looked at
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


def interrupted(process: subprocess.Popen[str]) -> Any:
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess([], process.returncode, output, errors)


def test_interrupted_on_a_pipe_that_does_not_end() -> None:
    reader, writer = os.pipe()
    with started("-", stdin=reader) as process:
        os.write(writer, f"step 1\n{NO_RUNTIME}half a li".encode())
        until(lambda: fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4) == b"\0" * 4)
        completed = interrupted(process)
    os.close(reader)
    os.close(writer)
    found = document(completed)
    assert completed.returncode == 130  # 128 + SIGINT, as shells count
    assert completed.stderr == "gonogo diagnose: interrupted; this is of what was read so far\n"
    assert gotchas(completed) == ["G1"]
    assert (found["interrupted"], found["lines_read"], found["files"]) == (True, 3, ["<stdin>"])


@pytest.fixture
def endless() -> Iterator[Any]:
    with subprocess.Popen(["yes", "step 1 loss 1.2345"], stdout=subprocess.PIPE) as process:
        yield process.stdout
        process.kill()


def test_interrupted_in_the_middle_of_its_work(endless: Any) -> None:
    with started("-", stdin=endless) as process:
        read = Path(f"/proc/{process.pid}/io")
        until(lambda: int(read.read_text().split()[1]) > 50_000_000)
        completed = interrupted(process)
    found = document(completed)
    assert (completed.returncode, found["interrupted"], found["diagnoses"]) == (130, True, [])
    assert found["bytes_read"] > 40_000_000


def test_a_journal_that_hangs_is_ended_with_us(tmp_path: Path) -> None:
    program, pid = tmp_path / "journalctl", tmp_path / "pid"
    program.write_text(
        f'#!/bin/sh\necho "{NO_RUNTIME.strip()}"\ncase "$*" in *"-n 1"*) exit;; esac\necho $$ > {pid}; exec sleep 60'
    )
    program.chmod(0o755)
    with started("--last-boot", env={"PATH": f"{tmp_path}:/usr/bin:/bin"}) as process:
        until(lambda: pid.exists() and pid.read_text() != "")
        completed = interrupted(process)
    assert (completed.returncode, document(completed)["interrupted"]) == (130, True)
    assert "G1" in gotchas(completed)
    child = int(pid.read_text())
    until(lambda: not Path(f"/proc/{child}").exists())


# -- memory -----------------------------------------------------------------------------------------------------------

#: Runs "$@" and says what it held at most, in KiB (getrusage(2): ru_maxrss of the children).
HELD = "import resource as r, subprocess, sys; subprocess.run(sys.argv[1:], stdout=2); "
HELD += "print(r.getrusage(r.RUSAGE_CHILDREN).ru_maxrss)"
LARGE = 300_000_000


@pytest.mark.parametrize(
    "source",
    [
        f"yes '2026-11-30 10:00:00 INFO step 1 loss 1.234' | head -c {LARGE}",
        f"head -c {LARGE} /dev/zero | tr '\\0' x",  # one line
        f"yes ' MHz, 99 % Mem: ' | tr -d '\\n' | head -c {LARGE} | gzip -1",  # one line, full of what is looked for
        f"yes 'MemTotal: 1 kB, 611 MHz, 96 %' | head -c {LARGE} | gzip -1",  # a figure on each line
        f"head -c {LARGE} /dev/zero | tr '\\0' '\\n'",
        "head -c 1000000 /dev/zero | tr '\\0' '\\n'",  # small enough to be read line by line
        f"head -c {LARGE} /dev/zero | tr '\\0' x | gzip -1",
        f"yes ' MHz, 99 % Mem: ' | head -c {LARGE} | zstd -q -19",  # a few kilobytes of it
    ],
)
def test_memory_stays_bounded(gonogo: Run, source: str) -> None:
    completed = gonogo("diagnose", "-", shell=f'{source} | {sys.executable} -c "{HELD}" "$@"', timeout=600)
    assert "Traceback" not in completed.stderr
    assert " bytes of <stdin>" in completed.stderr
    assert int(completed.stdout) < 150_000
