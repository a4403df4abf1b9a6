"""Running programs: what they answer, and that none can hold us, whatever it does.

Time limits are given and never measured; expected values are what the shell and the kernel say.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from gonogo.node.facts.missing import FAILED, NOT_FOUND, PERMISSION_DENIED, TIMED_OUT, Missing
from gonogo.node.ports.commands import LIMIT_BYTES, Commands, Completed

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc"),
    # A killed program is not waited for: Popen says so when it is collected.
    pytest.mark.filterwarnings("ignore:subprocess [0-9]+ is still running:ResourceWarning"),
]

LIVE = Commands()
#: Long enough for a program that answers, short enough to wait for one that does not.
PLENTY, SHORT = 20.0, 0.3


def shell(script: str, limit: float = PLENTY) -> Completed | Missing:
    return LIVE.run(["/bin/sh", "-c", script], limit)


@pytest.fixture(autouse=True)
def _nothing_left_open() -> Iterator[None]:
    before = list(Path("/proc/self/fd").iterdir())
    yield
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)


@pytest.fixture
def mark() -> Iterator[str]:
    """A text that processes carry in their command line; none of them may be alive afterwards."""
    text = f"mark-{uuid.uuid4().hex}"
    yield text
    for _ in range(1000):
        if not _alive(text):
            return
        time.sleep(0.02)
    raise AssertionError(f"still alive: {_alive(text)}")


def _alive(mark: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "cmdline").read_bytes():  # a dead one's is empty
                found.append(int(process.name))
        except OSError:
            pass
    return found


def _sleeper(folder: Path, mark: str) -> str:
    """`sleep 60` under a name of its own."""
    link = folder / mark
    link.symlink_to(str(shutil.which("sleep")))
    return f"{link} 60"


# -- endings ----------------------------------------------------------------------------------------------------------


def test_output_errors_and_exit_status() -> None:
    assert shell("printf out; printf err >&2; exit 3") == Completed(3, b"out", b"err")
    assert shell("true") == Completed(0, b"", b"")


def test_how_it_ended_in_words() -> None:
    killed = shell("kill -SEGV $$")
    assert isinstance(killed, Completed)
    assert (killed.status, killed.ending()) == (-signal.SIGSEGV, "killed by SIGSEGV")
    assert Completed(1, b"", b"").ending() == "exit status 1"
    assert Completed(-200, b"", b"").ending() == "killed by signal 200"


def test_standard_input_is_empty() -> None:
    assert LIVE.run(["cat"], PLENTY) == Completed(0, b"", b"")


def test_no_shell_reads_the_arguments() -> None:
    assert LIVE.run(["printf", "%s|", "a b", "$HOME", "*"], PLENTY) == Completed(0, b"a b|$HOME|*|", b"")


def test_the_environment_given_is_added_to_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "before")
    monkeypatch.setenv("CHANGED", "before")
    answer = LIVE.run([str(shutil.which("env"))], PLENTY, {"CHANGED": "after"})
    assert isinstance(answer, Completed)
    assert {b"KEPT=before", b"CHANGED=after"} <= set(answer.output.splitlines())


def test_a_session_of_its_own() -> None:
    code = "import os; print(os.getsid(0) == os.getpid())"
    assert LIVE.run([sys.executable, "-c", code], PLENTY) == Completed(0, b"True\n", b"")


# -- programs that cannot be run --------------------------------------------------------------------------------------


def test_a_missing_program(tmp_path: Path) -> None:
    for name in ("no-such-program-anywhere", str(tmp_path / "none"), f"{sys.executable}/below"):
        answer = LIVE.run([name], PLENTY)
        assert isinstance(answer, Missing) and answer.reason == NOT_FOUND


def test_a_file_that_is_not_executable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("#!/bin/sh\n")
    for path in (tmp_path / "file", tmp_path):
        answer = LIVE.run([str(path)], PLENTY)
        assert isinstance(answer, Missing) and answer.reason == PERMISSION_DENIED


def test_an_executable_file_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("no shebang")
    path.chmod(0o755)
    answer = LIVE.run([str(path)], PLENTY)
    assert isinstance(answer, Missing) and answer.reason == FAILED


@pytest.mark.parametrize("argument", ["a\0b", "a\ud800b"])
def test_an_argument_that_no_program_can_get(argument: str) -> None:
    answer = LIVE.run(["echo", argument], PLENTY)
    assert isinstance(answer, Missing) and answer.reason == FAILED


def test_another_user() -> None:
    answer = LIVE.run(["id", "-u"], PLENTY, user_and_group=(65534, 65534))
    if os.geteuid() == 0:
        assert answer == Completed(0, b"65534\n", b"")
        assert LIVE.run(["id", "-G"], PLENTY, user_and_group=(65534, 65534)) == Completed(0, b"65534\n", b"")
    else:
        assert isinstance(answer, Missing) and answer.reason == FAILED


# -- programs that say too much ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [1, 2])
def test_output_is_cut_and_the_program_still_ends(stream: int) -> None:
    code = f"import os\nfor _ in range(3): os.write({stream}, b'x' * {LIMIT_BYTES})"
    answer = LIVE.run([sys.executable, "-c", code], PLENTY)
    assert isinstance(answer, Completed) and answer.status == 0
    assert (answer.output, answer.errors)[stream - 1] == b"x" * LIMIT_BYTES


def test_both_streams_full_at_once() -> None:
    # Reading one to its end before the other would block for ever: a pipe holds 64 KiB.
    code = "import os\nfor _ in range(50): os.write(1, b'o' * 9000); os.write(2, b'e' * 9000)"
    assert LIVE.run([sys.executable, "-c", code], PLENTY) == Completed(0, b"o" * 450_000, b"e" * 450_000)


def test_endless_output_ends_at_the_limit(mark: str) -> None:
    code = f"import os  # {mark}\nwhile True: os.write(1, b'x' * 65536)"
    answer = LIVE.run([sys.executable, "-c", code], SHORT)
    assert answer == Missing(TIMED_OUT, "no answer within 0.3 s")


def test_endless_output_of_many_through_a_wide_pipe(mark: str) -> None:
    # Whoever writes may widen the pipe: then one read never finds it empty.
    code = (
        f"import fcntl, os  # {mark}\ntry: fcntl.fcntl(1, 1031, 1 << 20)  # F_SETPIPE_SZ\nexcept OSError: pass\n"
        "for _ in range(3): os.fork()\nwhile True: os.write(1, b'x' * (1 << 20))"
    )
    answer = LIVE.run([sys.executable, "-c", code], SHORT)
    assert isinstance(answer, Missing) and answer.reason == TIMED_OUT


# -- programs that do not come back -----------------------------------------------------------------------------------


def test_a_program_that_hangs(tmp_path: Path, mark: str) -> None:
    answer = LIVE.run(_sleeper(tmp_path, mark).split(), SHORT)
    assert answer == Missing(TIMED_OUT, "no answer within 0.3 s")


def test_a_program_that_hangs_after_closing_its_output(tmp_path: Path, mark: str) -> None:
    answer = shell(f"exec >&- 2>&-; exec {_sleeper(tmp_path, mark)}", SHORT)
    assert isinstance(answer, Missing) and answer.reason == TIMED_OUT


def test_a_program_that_ignores_signals(tmp_path: Path, mark: str) -> None:
    answer = shell(f"trap '' TERM HUP INT; {_sleeper(tmp_path, mark)}; true", SHORT)
    assert isinstance(answer, Missing) and answer.reason == TIMED_OUT


def test_a_grandchild_that_keeps_the_pipe_after_its_parent_ended(tmp_path: Path, mark: str) -> None:
    assert shell(f"printf done; {_sleeper(tmp_path, mark)} & exit 4") == Completed(4, b"done", b"")


def test_a_grandchild_that_keeps_the_pipe_while_its_parent_hangs(tmp_path: Path, mark: str) -> None:
    sleeper = _sleeper(tmp_path, mark)
    answer = shell(f"printf never; {sleeper} & {sleeper}", SHORT)
    assert isinstance(answer, Missing) and answer.reason == TIMED_OUT


@pytest.mark.skipif(shutil.which("setsid") is None, reason="no setsid")
def test_a_grandchild_that_left_the_session(tmp_path: Path, mark: str) -> None:
    # It cannot be killed with its session, and it must not hold us either.
    assert shell(f"printf done; setsid {_sleeper(tmp_path, mark)} & sleep 0.2; exit 4") == Completed(4, b"done", b"")
    for pid in _alive(mark):
        os.kill(pid, signal.SIGKILL)


def test_no_child_is_left_behind(tmp_path: Path, mark: str) -> None:
    before = _children()
    LIVE.run(_sleeper(tmp_path, mark).split(), SHORT)
    shell("sleep 0.1 & true")
    # The next program reaps the one that was killed: a watch that asks every second does not fill the process table.
    for _ in range(200):
        shell("true")
        if not _children() - before:
            return
        time.sleep(0.02)
    raise AssertionError(_children() - before)


def _children() -> set[str]:
    return {entry.parent.name for entry in Path("/proc").glob("[0-9]*/stat") if _is_child(entry)}


def _is_child(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(")")[2].split()[1] == str(os.getpid())  # proc(5): state, then ppid
    except OSError:
        return False
