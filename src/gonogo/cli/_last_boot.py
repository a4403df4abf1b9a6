"""What the previous boot of this machine left: its journal, saved kernel crashes, kernel logs, and how it ended."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from gonogo.cli import UsageError, _streams
from gonogo.logs import opening

JOURNAL = ["journalctl", "-b", "-1", "-q", "--no-pager", "-o", "short-iso"]
CRASHES = (Path("/sys/fs/pstore"), Path("/var/lib/systemd/pstore"))
#: A journal that does not answer by then is left out.
TRIAL_SECONDS = 20
#: Read besides where the journal is not there or closed to us; they hold more than one boot.
KERNEL_LOGS = (Path("/var/log/kern.log"), Path("/var/log/kern.log.1"))


def inputs() -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Each source with how to open it. Raises UsageError where the previous boot left nothing that we may read."""
    found = False
    program = shutil.which("journalctl")
    if program and _has_previous_boot(program):
        found = True
        yield "journal of the previous boot", partial(_journal, program)
    for folder in CRASHES:
        for path in _files(folder):
            found = True
            yield str(path), partial(opening.open_file, path)
    if not found:
        for path in KERNEL_LOGS:
            if path.exists():
                found = True
                yield str(path), partial(opening.open_file, path)
    ending = _ending()
    if ending:
        found = True
        yield "login records", partial(io.BytesIO, ending.encode())
    if not found:
        raise UsageError(
            "the previous boot left nothing that may be read: no journal of it, no login records, no saved crash; "
            "root, or a member of the groups adm and systemd-journal, may see more"
        )


def _has_previous_boot(program: str) -> bool:
    command = [program, "-b", "-1", "-q", "--no-pager", "-n", "1"]
    try:
        trial = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=TRIAL_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = getattr(error, "strerror", None) or f"no answer within {TRIAL_SECONDS} s"
        _streams.write_error(f"gonogo diagnose: the journal is left out: {why}")
        return False
    if trial.returncode == 0 and trial.stdout.strip():
        return True
    said = trial.stderr.decode("utf-8", "replace").strip().splitlines()
    if said and "ermission" in said[-1]:
        _streams.write_error(f"gonogo diagnose: {said[-1]} (root may read the journal)")
    return False


class _Journal(io.RawIOBase):
    """The program's output; ended with it."""

    def __init__(self, program: str) -> None:
        self._child = subprocess.Popen(
            [program, *JOURNAL[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        assert self._child.stdout is not None
        return self._child.stdout.read(size)

    def close(self) -> None:
        if not self.closed:
            self._child.kill()
            self._child.communicate()
        super().close()


def _journal(program: str) -> IO[bytes]:
    return _Journal(program)  # type: ignore[return-value]


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.rglob("*") if path.is_file())[:50]
    except OSError:
        return []


def _ending() -> str:
    """How the login records say that it ended, in the words that the signatures of G4 look for."""
    from gonogo.node import collection
    from gonogo.node.facts.codec import decode
    from gonogo.node.facts.missing import Missing, known
    from gonogo.node.facts.sections.boots import Boots
    from gonogo.node.ports.host import live_host

    document = collection.document(collection.gather(live_host(), only=["boots"]))
    boots = decode(document, forgiving=True).sections.get("boots")
    if not isinstance(boots, Boots) or isinstance(boots.recent, Missing) or len(boots.recent) < 2:
        return ""
    if boots.recent[1].ending != "cut":
        return "the previous boot ended with a shutdown record\n"
    saved = known(boots.saved_crash_files)
    crash = "pstore empty" if saved is not None and not saved else "pstore not readable or not empty"
    return f"journal ends without shutdown: the login records have no shutdown of the previous boot; {crash}\n"
