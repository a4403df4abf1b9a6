"""Boots: starts and shutdowns of the login records, saved kernel crashes, and how the journal of a cut boot ends."""

from __future__ import annotations

from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, NOT_FOUND, PERMISSION_DENIED, Missing
from gonogo.node.facts.sections.boots import Boot, Boots
from gonogo.node.parse import journal, wtmp
from gonogo.node.ports.host import Host

RECORDS, RECORDS_LIMIT_BYTES = "/var/log/wtmp", 64 << 20
CRASH_FOLDERS, MOST_CRASH_FILES = ("/sys/fs/pstore", "/var/lib/systemd/pstore"), 20
JOURNAL_SECONDS = 1.5
#: The filter stands in the command: the journal's other lines are private and shall not even reach a recording.
JOURNAL = (
    "journalctl --system -b -1 -n 200 -q --no-pager -o cat"
    f" | grep -a -E '{'|'.join(journal.MARKS)}' | tail -n {journal.MOST_LINES}"
)


def collect(host: Host) -> Boots | Missing:
    """Missing where there are no login records: in containers, and where a distribution has given them up."""
    rows = host.files.reduced(RECORDS, _records, RECORDS_LIMIT_BYTES + 1)
    if isinstance(rows, Missing):
        return Missing(rows.reason, rows.detail or f"{RECORDS}: {rows}")
    recent: tuple[Boot, ...] | Missing = Missing(FAILED, f"{RECORDS} is larger than {RECORDS_LIMIT_BYTES >> 20} MiB")
    if rows is not None:
        recent = tuple(Boot(start, ending, kernel or Missing(NOT_FOUND)) for start, ending, kernel in wtmp.boots(rows))
    return Boots(recent=recent, saved_crash_files=_crash_files(host), journal_end=_journal_end(host, recent))


def _records(content: bytes) -> list[list[object]] | None:
    return None if len(content) > RECORDS_LIMIT_BYTES else wtmp.records(content)


def _crash_files(host: Host) -> tuple[str, ...] | Missing:
    listed = [host.files.names(folder) for folder in CRASH_FOLDERS]
    found = [name for names in listed if not isinstance(names, Missing) for name in names]
    closed = [names for names in listed if isinstance(names, Missing) and names.reason != NOT_FOUND]
    if found or not closed:
        return tuple(found[:MOST_CRASH_FILES])
    return Missing(closed[0].reason, "root may list saved kernel crashes (pstore)")


def _journal_end(host: Host, recent: tuple[Boot, ...] | Missing) -> tuple[str, ...] | Missing:
    """Asked only where the previous boot was cut: it takes a tenth of a second, and more where the journal is large."""
    if isinstance(recent, Missing) or len(recent) < 2 or recent[1].ending != "cut":
        return Missing(NOT_COLLECTED, "the previous boot was not cut")
    answer = host.commands.run(["sh", "-c", JOURNAL], JOURNAL_SECONDS)
    if isinstance(answer, Missing):
        return answer
    lines = journal.lines(answer.output)
    complaint = " ".join(journal.lines(answer.errors))
    if lines or not complaint:
        return lines
    if "ermission" in complaint:
        return Missing(PERMISSION_DENIED, "root and the groups adm and systemd-journal may read the system's journal")
    return Missing(NOT_FOUND, complaint[: journal.MOST_CHARACTERS])
