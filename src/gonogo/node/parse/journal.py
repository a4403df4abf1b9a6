"""The marks that kernel and watchdogs leave in the journal when memory, heat or a fault ends a machine's run."""

from __future__ import annotations

#: Extended regular expressions, for grep and for Python alike. Other lines of the journal are nobody's business.
MARKS = (
    *("oom-kill:", "Out of memory: Killed", "NV_ERR_NO_MEMORY", "systemd-oomd.*[Kk]ill"),
    *("sending SIG(TERM|KILL) to process", "NVRM: ", "Xid \\(PCI", "Kernel panic", "kernel BUG at", "Internal error: "),
    *("Unable to handle kernel", "watchdog: BUG", "hard LOCKUP", "critical temperature", "thermal .*shut"),
    "Power key pressed",
)
MOST_LINES, MOST_CHARACTERS = 20, 200


def lines(output: bytes) -> tuple[str, ...]:
    """The last lines of what was printed, each cut."""
    text = output.decode("utf-8", "replace")
    found = [line.strip()[:MOST_CHARACTERS] for line in text.splitlines() if line.strip()]
    return tuple(found[-MOST_LINES:])
