"""Login records. Oracles: last -x on the same files, and the system's <utmp.h> through a C compiler.

The layout for aarch64 was also compared with Debian's arm64 headers (libc6-dev-arm64-cross) and with last of Debian's
arm64 util-linux under qemu; where ARM64_ROOT names such a system, the latter is done again here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_wtmp import BOOTS, HISTORY, NEW, OLD, RUN_LEVEL, SIZES, file, record

from gonogo.node.parse import wtmp

sizes = pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)


# -- the layout -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("gcc") is None, reason="a C compiler is the oracle")
def test_the_layout_is_that_of_this_systems_header(tmp_path: Path) -> None:
    fields = ("ut_type", "ut_line", "ut_id", "ut_user", "ut_host", "ut_tv")
    printed = "".join(f'printf("%zu ", offsetof(struct utmp, {field}));' for field in fields)
    includes = "#include <utmp.h>\n#include <stdio.h>\n#include <stddef.h>\n"
    program = f'{includes}int main(void) {{ {printed} printf("%zu", sizeof(struct utmp)); }}\n'
    (tmp_path / "layout.c").write_text(program)
    subprocess.run(["gcc", "-o", str(tmp_path / "layout"), str(tmp_path / "layout.c")], check=True)
    found = [
        int(word) for word in subprocess.run([tmp_path / "layout"], capture_output=True, check=True).stdout.split()
    ]
    assert found in ([0, 8, 40, 44, 76, 340, 384], [0, 8, 40, 44, 76, 344, 400])


def last(path: Path, program: tuple[str, ...]) -> list[tuple[int, str]]:
    """Starts and endings of boots as last -x tells them: a session that a boot without shutdown ended is a crash."""
    environment = {"TZ": "UTC", "LC_ALL": "C", "PATH": os.environ["PATH"]}
    command = [*program, "-x", "-F", "-w", "-f", str(path)]
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    stamp = r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]{8} \d{4}"
    found: list[tuple[int, str]] = []
    ending = "running"
    for line in lines:
        session = re.match(rf"someone .*?{stamp} +-? *(crash|down|gone)", line)
        boot = re.match(rf"reboot .*?({stamp})", line)
        if session:
            ending = {"crash": "cut", "down": "shutdown", "gone": "running"}[session.group(1)]
        elif boot:
            started = time.strptime(re.sub(" +", " ", boot.group(1)), "%a %b %d %H:%M:%S %Y")
            found.append((int(time.mktime(started)) - time.timezone, ending))
    return found


@pytest.mark.skipif(shutil.which("last") is None, reason="last (util-linux) is the oracle")
def test_the_boots_are_those_that_last_tells(tmp_path: Path) -> None:
    size = 400 if os.uname().machine == "aarch64" else 384
    (tmp_path / "wtmp").write_bytes(file(size, *HISTORY))
    assert last(tmp_path / "wtmp", ("last",)) == [(start, ending) for start, ending, _ in BOOTS]


@pytest.mark.skipif("ARM64_ROOT" not in os.environ, reason="make test-arm64 names the arm64 root")
def test_the_boots_are_those_that_last_tells_on_the_architecture_of_a_spark(tmp_path: Path) -> None:
    root = os.environ["ARM64_ROOT"]
    (tmp_path / "wtmp").write_bytes(file(400, *HISTORY))
    program = ("qemu-aarch64-static", "-L", root, f"{root}/usr/bin/last")
    assert last(tmp_path / "wtmp", program) == [(start, ending) for start, ending, _ in BOOTS]


# -- what is kept -----------------------------------------------------------------------------------------------------


@sizes
def test_only_starts_and_shutdowns_are_kept(size: int) -> None:
    rows = wtmp.records(file(size, *HISTORY))
    assert rows == [
        ["boot", 1795000000, OLD],
        ["shutdown", 1795100000, OLD],
        ["boot", 1795100100, NEW],
        ["boot", 1795300000, NEW],
    ]
    assert "someone" not in repr(rows) and "192.0.2.7" not in repr(rows)
    assert wtmp.boots(rows) == BOOTS


@sizes
def test_the_newest_ten_of_many(size: int) -> None:
    starts = range(1790000000, 1790000000 + 40 * 1000, 1000)
    boots = wtmp.boots(wtmp.records(file(size, *(("reboot", start) for start in starts))))
    assert [start for start, _, _ in boots] == list(reversed(starts))[:10]
    assert [ending for _, ending, _ in boots] == ["running", *["cut"] * 9]


@pytest.mark.parametrize(
    ("rows", "endings"),
    [
        ((), []),
        ((("shutdown", 5),), []),  # the file was rotated in between
        ((("shutdown", 5), ("reboot", 9)), ["running"]),
        ((("reboot", 5), ("run level", 6), ("reboot", 9)), ["running", "cut"]),  # a run level is no shutdown
        ((("reboot", 5), ("shutdown", 6), ("shutdown", 7), ("reboot", 9)), ["running", "shutdown"]),
        ((("reboot", 5), ("shutdown", 6)), ["shutdown"]),
        ((("reboot", 9), ("reboot", 5)), ["running", "cut"]),  # the order of the file counts, clocks may be wrong
    ],
)
def test_how_boots_end(rows: tuple[tuple[str, int], ...], endings: list[str]) -> None:
    assert [ending for _, ending, _ in wtmp.boots(wtmp.records(file(384, *rows)))] == endings


def test_a_clock_that_was_never_set() -> None:
    """32 bits: the microseconds that follow are taken for the seconds, at most eleven days after 1970."""
    ((_, seconds, _),) = wtmp.records(file(384, ("reboot", 0)))
    assert 0 <= seconds < 1_000_000
    assert wtmp.records(file(400, ("reboot", 0))) == [["boot", 0, NEW]]
    assert wtmp.records(file(400, ("reboot", -5))) == []


# -- hostile input ----------------------------------------------------------------------------------------------------


@sizes
def test_cut_files(size: int) -> None:
    whole = file(size, *HISTORY)
    for length in range(0, len(whole), 7):
        assert wtmp.records(whole[:length]) == wtmp.records(whole)[: len(wtmp.records(whole[:length]))]


def test_a_mark_without_a_record_around_it() -> None:
    for content in (
        b"~~\0\0reboot\0",
        b"\0" * 40 + b"~~\0\0reboot\0",
        b"\x02" * 100 + b"~~\0\0shutdown\0" + b"\xff" * 400,
    ):
        assert wtmp.records(content) == []
    # A run level's record that names a reboot, as old init wrote.
    assert wtmp.records(record(384, RUN_LEVEL, "reboot", NEW, 5)) == []


def test_names_that_are_no_text() -> None:
    content = bytearray(file(384, ("reboot", 1795000000)))
    content[76:86] = b"\xff\xfe6.17\0zz\xff"
    assert wtmp.records(bytes(content)) == [["boot", 1795000000, "��6.17"]]


@given(content=st.binary(max_size=2000), prefix=st.sampled_from([b"", b"\x02\0" + b"\0" * 38, file(384, HISTORY[0])]))
def test_any_bytes_are_read_without_an_error(content: bytes, prefix: bytes) -> None:
    rows = wtmp.records(prefix + content + b"~~\0\0reboot\0" + content)
    assert all(kind in ("boot", "shutdown") and 0 <= seconds < 1 << 40 for kind, seconds, _ in rows)
    assert len(wtmp.boots(rows)) <= 10
