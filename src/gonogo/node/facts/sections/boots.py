"""How the last boots ended: login records (wtmp), what the kernel saved on its way down, the journal's last lines."""

from __future__ import annotations

from typing import NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Boot(NamedTuple):
    """``ending`` is running, shutdown (recorded) or cut (the next boot came without one)."""

    started_unix_seconds: int
    ending: str
    kernel_release: str | Missing = UNCOLLECTED


class Boots(NamedTuple):
    """``recent`` holds at most ten, newest first. The journal is asked only where the previous boot was cut."""

    recent: tuple[Boot, ...] | Missing = UNCOLLECTED
    saved_crash_files: tuple[str, ...] | Missing = UNCOLLECTED  # in pstore, and where systemd moves them
    journal_end: tuple[str, ...] | Missing = UNCOLLECTED  # messages of kernel and watchdogs, last of the previous boot
