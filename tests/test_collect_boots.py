"""Boots of hand-made machines and of this one. Oracles: the records' own figures, systemd's words, the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_host import host, reason
from made_wtmp import BOOTS, HISTORY, file

from gonogo.node.collect import boots, software
from gonogo.node.facts.codec import decode_section, encode_value
from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, NOT_FOUND, PERMISSION_DENIED, TIMED_OUT, Missing
from gonogo.node.facts.sections.boots import Boot, Boots
from gonogo.node.parse import journal
from gonogo.node.ports import recording
from gonogo.node.ports.commands import Commands, Completed
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import live_host

WTMP = "/var/log/wtmp"
CLEAN = (("reboot", 1795000000), ("shutdown", 1795100000), ("reboot", 1795100100))
#: systemd's journalctl (shared/journal-util.c), for a user who is in no group that may read it.
NOT_ALLOWED = b"No journal files were opened due to insufficient permissions.\n"
NO_SUCH_BOOT = b"Data from the specified boot (-1) is not available: No such boot ID in journal\n"
NOTHING = Completed(0, b"", b"")


class Journal(Commands):
    """A shell that answers as told."""

    def __init__(self, answer: Completed | Missing = NOTHING) -> None:
        self.answer, self.asked = answer, []  # type: ignore[var-annotated]

    def run(self, argv: Any, limit_seconds: float, *_: Any, **__: Any) -> Completed | Missing:
        self.asked.append((argv, limit_seconds))
        return self.answer


def collected(tmp_path: Path, files: dict[str, Any], **changes: Any) -> Boots:
    facts = boots.collect(host(tmp_path, files, **{"commands": Journal(), **changes}))
    assert isinstance(facts, Boots)
    return facts


@pytest.mark.parametrize("size", [384, 400])
def test_boots_and_how_they_ended(tmp_path: Path, size: int) -> None:
    commands = Journal(Completed(0, b"Power key pressed short.\n", b""))
    facts = collected(tmp_path, {WTMP: file(size, *HISTORY)}, commands=commands)
    assert facts.recent == tuple(Boot(*boot) for boot in BOOTS)
    assert facts.journal_end == ("Power key pressed short.",)
    assert facts.saved_crash_files == ()
    ((command, limit),) = commands.asked
    assert (command[:2], limit) == (["sh", "-c"], 1.5)
    assert command[2].startswith("journalctl --system -b -1 -n 200 -q --no-pager -o cat | grep ")


def test_the_journal_is_asked_only_about_a_cut(tmp_path: Path) -> None:
    commands = Journal()
    clean = collected(tmp_path, {WTMP: file(384, *CLEAN)}, commands=commands)
    assert (reason(clean.journal_end), commands.asked) == (NOT_COLLECTED, [])
    older = (("reboot", 1794000000), *CLEAN)
    assert reason(collected(tmp_path, {WTMP: file(384, *older)}, commands=commands).journal_end) == NOT_COLLECTED
    assert collected(tmp_path, {WTMP: b""}, commands=commands).recent == ()
    assert commands.asked == []


def test_a_kernel_without_a_name_and_no_records_at_all(tmp_path: Path) -> None:
    assert collected(tmp_path, {WTMP: file(384, ("reboot", 5, ""))}).recent == (Boot(5, "running", Missing(NOT_FOUND)),)
    facts = boots.collect(host(tmp_path / "container"))
    assert facts == Missing(NOT_FOUND, "/var/log/wtmp: not found")


def test_records_larger_than_anybodys(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(boots, "RECORDS_LIMIT_BYTES", 1 << 20)
    facts = collected(tmp_path, {WTMP: file(384, *HISTORY) + bytes(1 << 20)})
    # The newest are at the end: better none than old ones taken for new.
    assert facts.recent == Missing(FAILED, "/var/log/wtmp is larger than 1 MiB")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Missing(TIMED_OUT, "no answer within 1.5 s"), TIMED_OUT),
        (Missing(NOT_FOUND), NOT_FOUND),
        (Completed(0, b"", NOT_ALLOWED), PERMISSION_DENIED),
        (Completed(0, b"", NO_SUCH_BOOT), NOT_FOUND),
        (Completed(0, b"", b"sh: 1: journalctl: not found\n"), NOT_FOUND),
    ],
)
def test_a_journal_that_cannot_be_read(tmp_path: Path, answer: Completed | Missing, expected: str) -> None:
    facts = collected(tmp_path, {WTMP: file(384, *HISTORY)}, commands=Journal(answer))
    assert reason(facts.journal_end) == expected
    if expected == PERMISSION_DENIED:
        assert "adm" in str(facts.journal_end) and "root" in str(facts.journal_end)


def test_a_journal_that_names_no_cause(tmp_path: Path) -> None:
    facts = collected(tmp_path, {WTMP: file(384, *HISTORY)}, commands=Journal())
    assert facts.journal_end == ()


#: The fourth: NVIDIA/open-gpu-kernel-modules#1358.
LINES = [
    "oom-kill:constraint=CONSTRAINT_NONE,task=lmcache,pid=3742074,uid=0",  # LMCache/LMCache#4759
    "Out of memory: Killed process 3742074 (lmcache) total-vm:81306880kB",
    "NVRM: Xid (PCI:000f:01:00): 119, Timeout after 6s of waiting for RPC response from GPU0 GSP!",  # forum 378200
    "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)",
    'sending SIGTERM to process 812 uid 1000 "VLLM::EngineCore": badness 900',  # model-serving-minefield#134
    "Kernel panic - not syncing: Oops: Fatal exception",
    "Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008",
    "Internal error: Oops: 0000000096000004 [#1] SMP",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 26s!",
    "thermal thermal_zone0: acpitz: critical temperature reached, shutting down",
    "systemd-oomd killed some process(es) in this unit.",
    "Power key pressed short.",
]
OTHERS = [
    "pam_unix(sudo:session): session opened for user root(uid=0) by someone(uid=1000)",
    "someone : TTY=pts/0 ; PWD=/home/someone ; USER=root ; COMMAND=/usr/bin/cat token",
    "panic: runtime error: index out of range",  # a program's own, in Go
    "Started Session 4 of User someone.",
    "thermal zone registered",
]


def test_only_the_marks_leave_the_shell(tmp_path: Path) -> None:
    """The command as it is, on a journalctl that prints both kinds of lines, and a byte that is no text."""
    program = tmp_path / "journalctl"
    text = "\n".join(f"{other}\n{line}" for line, other in zip(LINES, OTHERS * 3, strict=False))
    program.write_bytes(b"#!/bin/sh\ncat <<'EOF'\n\xff\xfe\n" + text.encode() + b"\nEOF\n")
    program.chmod(0o755)
    answer = Commands().run(["sh", "-c", boots.JOURNAL], 10, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert isinstance(answer, Completed)
    assert journal.lines(answer.output) == tuple(LINES)
    assert b"someone" not in answer.output


def test_long_and_many_lines_are_cut() -> None:
    output = b"".join(b"NVRM: %d " % number + b"x" * 500 + b"\n" for number in range(50))
    lines = journal.lines(output)
    assert [line[:8] for line in lines] == [f"NVRM: {number}" for number in range(30, 50)]
    assert {len(line) for line in lines} == {200}
    assert journal.lines(b"") == journal.lines(b"\n \n") == ()


def test_saved_crashes(tmp_path: Path) -> None:
    files = {
        WTMP: file(384, *CLEAN),
        "/sys/fs/pstore/dmesg-efi-179510010001001": "private",
        "/var/lib/systemd/pstore/1795100100/dmesg.txt": "private",
    }
    facts = collected(tmp_path, files)
    assert facts.saved_crash_files == ("dmesg-efi-179510010001001", "1795100100")
    many = {f"/sys/fs/pstore/dmesg-erst-{number}": "" for number in range(40)}
    assert len(collected(tmp_path / "b", {WTMP: b"", **many}).saved_crash_files) == 20  # type: ignore[arg-type]


def test_saved_crashes_that_only_root_may_list(tmp_path: Path) -> None:
    class Closed(Files):
        def names(self, path: str) -> list[str] | Missing:
            return Missing(PERMISSION_DENIED) if path == "/sys/fs/pstore" else super().names(path)

    machine = host(tmp_path, {WTMP: file(384, *CLEAN)}, commands=Journal())._replace(files=Closed(str(tmp_path)))
    facts = boots.collect(machine)
    assert isinstance(facts, Boots)
    assert reason(facts.saved_crash_files) == PERMISSION_DENIED


def test_boots_of_this_machine() -> None:
    facts = boots.collect(live_host())
    assert isinstance(facts, (Boots, Missing))
    if isinstance(facts, Boots):
        assert isinstance(facts.saved_crash_files, (tuple, Missing))


def test_a_record_holds_what_was_kept_and_nothing_else(tmp_path: Path) -> None:
    """What a raw record keeps of both collectors, and that replaying it gives the same facts."""
    files = {
        WTMP: file(400, *HISTORY),
        "/var/lib/dpkg/status": "Package: nvtop\nStatus: install ok installed\nVersion: 1\n",
    }
    machine = host(tmp_path, files, commands=Journal(), kernel_release="6.17.0-1031-nvidia")
    for collector in (boots, software):
        kept = recording.empty()
        facts = collector.collect(recording.recording_host(machine, kept))
        text = json.dumps(kept)
        assert "someone" not in text and "192.0.2.7" not in text
        again = collector.collect(recording.replayed_host(json.loads(text)))
        assert encode_value(again) == encode_value(facts)


def test_facts_survive_their_document(tmp_path: Path) -> None:
    facts = collected(tmp_path, {WTMP: file(400, *HISTORY)})
    assert decode_section("boots", json.loads(json.dumps(encode_value(facts)))) == facts


@given(content=st.binary(max_size=1500))
def test_any_login_records_become_facts(content: bytes) -> None:
    class Given(Files):
        def read(self, path: str, limit_bytes: int = 0) -> bytes | Missing:
            return content if path == WTMP else Missing(NOT_FOUND)

    facts = boots.collect(host(Path("/nonexistent"), commands=Journal())._replace(files=Given("/nonexistent")))
    assert isinstance(facts, Boots)
