"""The fast pass over a log against the slow one: line by line, part by part; and against grep -n and wc -l."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gonogo.logs import cleaning, finder, scanning
from gonogo.logs.finder import Finder
from gonogo.logs.scanning import Line, Scanner

LITERALS = ("error: ", "CUDA error", "Xid ", "NaN", "aba", "baab", "Gerät")
Found = list[tuple[int, frozenset[int]]]

#: What lines are made of: literals and halves of them, what cuts lines up, and what is no text.
PIECES = st.one_of(
    st.sampled_from([literal.encode() for literal in LITERALS]),
    st.sampled_from([literal.encode()[:3] for literal in LITERALS]),
    st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"ab", b"a", b" ", b"\t", b"x" * 50]),
    st.sampled_from([b"\x1b[31m", b"\x1b[0m", b"\x1b[2K", b"\x1b[1;36m", b"\x1b", b"\x1b["]),
    st.binary(max_size=4),
)
LOGS = st.lists(PIECES, max_size=60).map(b"".join)


@pytest.fixture(params=["native", "without it"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both ways of finding literals: with ahocorasick_rs, and where it cannot be imported."""
    if request.param == "native":
        pytest.importorskip("ahocorasick_rs")
        return True
    _without(monkeypatch)
    return False


def _without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    monkeypatch.setattr(finder, "_automaton", finder._automaton.__wrapped__)  # nothing that was built before


def scanned(blocks: list[bytes], literals: tuple[str, ...] = LITERALS) -> tuple[list[Line], Scanner]:
    lines: list[Line] = []
    scanner = Scanner(literals, lines.append)
    scanner.scan("log", blocks)
    return lines, scanner


def places(lines: list[Line]) -> Found:
    return [(line.number, line.literals) for line in lines]


def slow(log: bytes, literals: tuple[str, ...] = LITERALS) -> Found:
    """Every line without its colours, cut where the cursor went back, searched for every literal."""
    found = []
    for number, line in enumerate(log.split(b"\n"), 1):
        for part in re.sub(rb"\x1b\[[0-9;:<=>?]*[!-/ ]*[@-~]", b"", line).split(b"\r"):
            held = frozenset(index for index, literal in enumerate(literals) if literal.encode() in part)
            if held:
                found.append((number, held))
    return found


def cut_up(log: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(log), *(cut % (len(log) + 1) for cut in cuts)})
    return [log[start:end] for start, end in pairwise(edges)] or [log]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(LOGS, st.lists(st.integers(0, 5000), max_size=8))
def test_the_same_as_line_by_line(engine: bool, log: bytes, cuts: list[int]) -> None:
    lines, scanner = scanned(cut_up(log, cuts))
    assert scanner.native is engine
    assert places(lines) == slow(log)
    assert scanner.bytes_read == len(log)
    assert scanner.lines_read == log.count(b"\n") + (not log.endswith(b"\n") and log != b"")
    for line in lines:
        assert line.text == cleaning.clean(line.text.encode())
        assert "\n" not in line.text


@given(LOGS)
def test_blocks_of_one_byte(log: bytes) -> None:
    # Every literal stands across a border, every line is put together from pieces.
    lines, _ = scanned([log[at : at + 1] for at in range(len(log))])
    assert lines == scanned([log])[0]


@given(st.lists(st.sampled_from([*LITERALS, "ab", "a", "b", " "]), max_size=12).map("".join))
def test_both_finders_see_the_same(text: str) -> None:
    pytest.importorskip("ahocorasick_rs")
    native = Finder(LITERALS)
    with pytest.MonkeyPatch.context() as patch:
        _without(patch)
        own = Finder(LITERALS)
    assert (native.native, own.native) == (True, False)
    block = text.encode()
    assert native.all_in(block) == own.all_in(block) == {i for i, word in enumerate(LITERALS) if word in text}
    # Of overlapping ones at least one, each where it says it is: enough to find the line.
    for one in (native, own):
        spans = [(start, end) for _, start, end in one.places(block)]
        assert all(LITERALS[index].encode() == block[start:end] for index, start, end in one.places(block))
        assert spans == sorted(spans, key=lambda span: span[0])
        for word in LITERALS:
            for hit in re.finditer(f"(?={re.escape(word)})", text):
                start = len(text[: hit.start()].encode())
                assert any(first < start + len(word.encode()) and start < last for first, last in spans)


def test_no_literals_at_all() -> None:
    lines, scanner = scanned([b"some\ntext\n"], ())
    assert (lines, scanner.lines_read, scanner.native) == ([], 2, False)
    assert Finder([]).all_in(b"text") == set()


# -- programs of the system as oracles --------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [b"\n", b"", b"\n\n"])
def test_line_numbers_are_grep_s(ending: bytes, tmp_path: Any, engine: bool) -> None:
    log = b"\n".join(b"line %d%s" % (n, b" CUDA error" if n % 7 == 3 or n > 995 else b"\x00\xff") for n in range(1000))
    path = tmp_path / "log"
    path.write_bytes(log + ending)
    grep = subprocess.check_output(["grep", "-a", "-n", "-F", "CUDA error", path], env={"LC_ALL": "C"})
    expected = [int(row.partition(b":")[0]) for row in grep.splitlines()]
    for size in (7, 100, 4096, 1 << 20):
        data = log + ending
        lines, scanner = scanned([data[at : at + size] for at in range(0, len(data), size)])
        assert [line.number for line in lines] == expected
        # awk's records are lines, the last one also where its end is missing.
        records = subprocess.check_output(["awk", "END { print NR }", path], env={"LC_ALL": "C"})
        assert scanner.lines_read == int(records)


def test_several_files_count_from_one_each() -> None:
    lines: list[Line] = []
    scanner = Scanner(LITERALS, lines.append)
    scanner.scan("a", [b"x\nXid 79\nend without newline"])
    scanner.scan("b", [])
    scanner.scan("c", [b"Xid 31\n"])
    assert [(line.file, line.number, line.text) for line in lines] == [("a", 2, "Xid 79"), ("c", 1, "Xid 31")]
    assert (scanner.lines_read, scanner.bytes_read) == (4, 28 + 7)


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [100, 4095, 4096, 4097, 9000, 1 << 16, (1 << 16) + 1, 700_000])
@pytest.mark.parametrize("size", [1 << 12, 100_000, 1 << 22])
def test_every_place_of_a_long_line_is_looked_at(length: int, size: int, engine: bool) -> None:
    # One line, such as a progress bar or a JSON object: each of these stands somewhere else in it.
    marks = {0: "error: ", length // 3: "Xid ", length // 2: "NaN", max(length - 300, 60): "CUDA error"}
    line = bytearray(b"." * length)
    for place, word in marks.items():
        line[place : place + len(word)] = word.encode()
    log = b"first\n" + bytes(line) + b"\nXid last\n"
    lines, scanner = scanned([log[at : at + size] for at in range(0, len(log), size)])
    assert {line.number for line in lines} == {2, 3}
    assert frozenset().union(*(line.literals for line in lines if line.number == 2)) == {0, 1, 2, 3}
    assert all(len(line.text) <= cleaning.LIMIT_BYTES for line in lines)
    assert scanner.lines_read == 3


@pytest.mark.parametrize("edge", [cleaning.LIMIT_BYTES, scanning.LONGEST_LINE_BYTES + 1000])
@pytest.mark.parametrize("back", range(0, 40, 3))
def test_what_stands_around_a_literal_in_a_long_line_is_there(edge: int, back: int) -> None:
    # A pattern needs that, wherever the first window and the first piece end.
    text = b"<before>CUDA error<after>"
    line = b"Xid ".ljust(edge - back, b".") + text + b"." * 90_000
    lines, _ = scanned([line[at : at + edge] for at in range(0, len(line), edge)])
    assert any(text.decode() in line.text for line in lines)


def test_a_progress_bar_is_taken_apart() -> None:
    bar = b"".join(b"\r%3d%%|####| %d/5000 loss NaN" % (step // 50, step) for step in range(5000))
    lines, _ = scanned([bar + b"\rCUDA error\nend\n"])
    assert ("CUDA error", 1) in [(line.text, line.number) for line in lines]
    assert sum(line.text.endswith("loss NaN") for line in lines) >= 5000 * 0.99


def test_a_literal_that_says_nothing_more_is_dropped(engine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # In the middle of a block, while others of the same lines are still looked for.
    monkeypatch.setattr(scanning, "ENOUGH_LINES", 30)
    log = b"".join(b"NaN %s\n" % (b"Xid" if n % 10 else b"Xid 7") for n in range(1000)) + b"NaN CUDA error\n"
    for size in (64, 1 << 22):
        lines, scanner = scanned([log[at : at + size] for at in range(0, len(log), size)])
        of = [[line.number for line in lines if index in line.literals] for index in range(len(LITERALS))]
        assert of[3] == list(range(1, 31))
        assert of[2] == [1 + 10 * n for n in range(30)]
        assert of[1] == [1001]
        assert scanner.lines_read == 1001
        scanner.scan("next", [b"NaN\nerror: x\n"])
        assert places(lines)[-1] == (2, frozenset({0}))


def test_what_was_handed_out_before_it_broke_is_looked_at() -> None:
    def breaking() -> Iterator[bytes]:
        yield b"one\nXid 79\n"
        yield b"CUDA error"
        raise OSError("no more")

    lines: list[Line] = []
    scanner = Scanner(LITERALS, lines.append)
    with pytest.raises(OSError, match="no more"):
        scanner.scan("log", breaking())
    assert [(line.number, line.text) for line in lines] == [(2, "Xid 79"), (3, "CUDA error")]
    assert scanner.lines_read == 3


# -- cleaning ---------------------------------------------------------------------------------------------------------

ESCAPES = [
    b"\x1b[31m",
    b"\x1b[0;1m",
    b"\x1b]0;title\x07",
    b"\x1b]8;;http://x\x1b\\",
    b"\x1bP1$r\x1b\\",
    b"\x1b(B",
    b"\x1b",
]
MARKS = ["\u202e", "\u202a", "\u2066", "\u2069", "\ufeff", "\x9b31m", "\x85", "\x07", "\b", "\x00", "\x7f"]


@given(st.lists(st.one_of(st.sampled_from(ESCAPES), st.sampled_from(MARKS).map(str.encode), st.binary(max_size=5))))
def test_nothing_that_moves_a_cursor_or_turns_the_text_is_left(pieces: list[bytes]) -> None:
    for part in cleaning.segments(b"".join(pieces).replace(b"\n", b"")):
        text = cleaning.clean(part)
        assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text)
        assert not any(unicodedata.bidirectional(letter) in BIDIRECTIONAL for letter in text)


#: Embeddings, overrides and isolates (Unicode Bidirectional Algorithm, UAX #9): what reorders the text around it.
BIDIRECTIONAL = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"plain\r\n", "plain"),
        (b"\x1b[1;31mfatal error: \x1b[m\x1b[KPython.h\x1b[0m: No such file", "fatal error: Python.h: No such file"),
        (b"\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"a\tb", "a b"),
        ("Gerät 温度 ✓".encode(), "Gerät 温度 ✓"),
        (b"\xff\xfeCUDA", "\ufffd\ufffdCUDA"),
        ("\ufeffCUDA \u202etxet\u202c".encode(), "CUDA txet"),
        (b"N\x00a\x00N", "NaN"),
    ],
)
def test_clean_by_hand(line: bytes, text: str) -> None:
    assert cleaning.clean(line) == text


def test_colours_inside_a_phrase_do_not_hide_it() -> None:
    # As compilers, grep and rich write them.
    log = b"\x1b[1;31mCUDA \x1b[0m\x1b[Kerror\x1b[m: an illegal access\nx \x1b[01merror\x1b[0m: y\n"
    assert places(scanned([log])[0]) == [(1, frozenset({0, 1})), (2, frozenset({0}))]
