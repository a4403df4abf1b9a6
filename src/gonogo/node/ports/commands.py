"""Running programs of the machine with a time limit that holds, whatever they do."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence

from gonogo.node.facts.missing import FAILED, TIMED_OUT, Missing, missing_from

if TYPE_CHECKING:
    import subprocess

#: What a program prints beyond this is dropped (it is still drained, so that it can end).
LIMIT_BYTES = 1 << 20


class Completed(NamedTuple):
    """A program that ended: ``status`` is its exit status, or minus the number of the signal that ended it."""

    status: int
    output: bytes
    errors: bytes

    def ending(self) -> str:
        """How it ended, for people: "exit status 1", "killed by SIGSEGV"."""
        if self.status >= 0:
            return f"exit status {self.status}"
        import signal

        try:
            return f"killed by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"killed by signal {-self.status}"


class Commands:
    """The live port."""

    def run(
        self,
        argv: Sequence[str],
        limit_seconds: float,
        environment: Mapping[str, str] | None = None,
        user_and_group: tuple[int, int] | None = None,
    ) -> Completed | Missing:
        """Run ``argv`` without a shell and with an empty standard input, in a session of its own.

        ``environment`` is added to our own. ``user_and_group`` (ids) is who it runs as; root only.

        After ``limit_seconds`` the whole session is killed and left behind, so that neither a program stuck in the
        kernel nor a grandchild that keeps the pipe open can hold us. Never raises OSError.
        """
        import subprocess  # 5 ms that only those who run something shall pay

        try:
            child = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if environment is None else {**os.environ, **environment},
                start_new_session=True,
                bufsize=0,
                preexec_fn=None if user_and_group is None else lambda: _become(user_and_group),  # noqa: PLW1509 - single-threaded here
            )
        except OSError as error:
            return missing_from(error)
        except (ValueError, subprocess.SubprocessError) as error:  # a NUL byte in an argument; no right to change user
            return Missing(FAILED, str(error))
        return _communicate(child, time.monotonic() + limit_seconds, limit_seconds)


def _become(user_and_group: tuple[int, int]) -> None:
    user, group = user_and_group
    os.setgroups([group])
    os.setgid(group)
    os.setuid(user)


def _communicate(child: subprocess.Popen[bytes], deadline: float, limit_seconds: float) -> Completed | Missing:
    assert child.stdout is not None and child.stderr is not None
    kept: dict[int, bytearray] = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    out, err = child.stdout.fileno(), child.stderr.fileno()
    poller = select.poll()
    for descriptor in kept:
        os.set_blocking(descriptor, False)
        poller.register(descriptor, select.POLLIN | select.POLLHUP)
    open_ends = set(kept)
    late = False
    try:
        while open_ends:
            left = deadline - time.monotonic()
            # A short wait only where the program may end while a grandchild still holds its pipe.
            for descriptor, _ in poller.poll(max(0.0, min(left, 0.05)) * 1000):
                if not _drain(descriptor, kept[descriptor]):
                    poller.unregister(descriptor)
                    open_ends.discard(descriptor)
            if open_ends and child.poll() is not None:
                for descriptor in open_ends:
                    _drain(descriptor, kept[descriptor])
                break
            if left <= 0:
                late = True
                break
        if not late:
            late = not _ended(child, deadline)
    finally:
        if late or open_ends:
            _kill_session(child.pid)
        child.stdout.close()
        child.stderr.close()
    if late:
        return Missing(TIMED_OUT, f"no answer within {limit_seconds:g} s")
    return Completed(child.returncode, bytes(kept[out]), bytes(kept[err]))


def _ended(child: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait for a program that has closed its pipes; False when it is still there at the deadline."""
    while child.poll() is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def _drain(descriptor: int, kept: bytearray) -> bool:
    """Read what is there now; False once the other end is closed."""
    while True:
        try:
            chunk = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not chunk:
            return False
        kept.extend(chunk[: max(0, LIMIT_BYTES - len(kept))])
        if len(chunk) < 1 << 16:
            return True  # back to poll: an endless writer must not keep us from the deadline


def _kill_session(pid: int) -> None:
    import signal

    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass


class ReplayedCommands(Commands):
    """Answers from a recording, keyed by the program's file name and its arguments."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    def run(
        self,
        argv: Sequence[str],
        limit_seconds: float,
        environment: Mapping[str, str] | None = None,
        user_and_group: tuple[int, int] | None = None,
    ) -> Completed | Missing:
        answer: Completed | Missing = self._answers.get(
            command_key(argv), Missing("not_collected", "not in the recording")
        )
        return answer


def command_key(argv: Sequence[str]) -> str:
    """The key of a command in a recording. A script's text is left out: it changes between versions."""
    return "\x1f".join("<script>" if "\n" in word else word for word in argv)
