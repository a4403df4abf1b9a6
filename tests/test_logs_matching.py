"""Conditions that tie patterns together: where, how near, how large; over one input and over two."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.logs.literals import required
from gonogo.logs.matching import KEPT_FIRST, KEPT_LAST, Matcher, Sighting, patterns_of
from gonogo.logs.scanning import Scanner
from gonogo.logs.signatures import PLACES, Bound, Condition, Signature, signatures_of


def condition(pattern: str, place: str = "anywhere", within: int = 0) -> Condition:
    return Condition(pattern, required(pattern), place, within)


def signature(pattern: str, **more: Any) -> Signature:
    return Signature("G1", "some-code", pattern, required(pattern), **more)


def read(signatures: list[Signature], *files: str) -> tuple[list[Sighting], Matcher]:
    matcher = Matcher(patterns_of(signatures))
    scanner = Scanner(matcher.literals, matcher.take)
    for number, text in enumerate(files):
        before = scanner.lines_read
        scanner.scan(f"file{number}", [text.encode()])
        matcher.next_file(scanner.lines_read - before)
    return matcher.sightings(signatures), matcher


def seen(one: Signature, *files: str) -> list[tuple[str, int]]:
    """File and line of the sighting, and of the lines that met its conditions."""
    found, _ = read([one], *files)
    return [(match.file, match.number) for item in found for match in (item.match, *item.with_)]


def log(lines: int = 100, **at: int) -> str:
    """A log of so many lines with words on some of them."""
    rows = [f"line {number}" for number in range(1, lines + 1)]
    for word, number in at.items():
        rows[number - 1] += f" {word}"
    return "\n".join(rows) + "\n"


# -- where ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("within", [0, 1, 10, 30])
@pytest.mark.parametrize("other", [1, 20, 39, 40, 49, 50, 51, 60, 61, 80, 100])
def test_place_and_distance(place: str, within: int, other: int) -> None:
    # By hand: the signature's own line is 50.
    right_side = {"anywhere": True, "before": other <= 50, "after": other >= 50, "same-line": other == 50}[place]
    near = within == 0 or abs(other - 50) <= within
    text = log(failure=50, context=other)
    met = right_side and near
    needing = signature("failure", needs=(condition("context", place, within),))
    assert seen(needing, text) == ([("file0", 50), ("file0", other)] if met else [])
    forbidding = signature("failure", unless=(condition("context", place, within),))
    assert seen(forbidding, text) == ([] if met else [("file0", 50)])


def test_nothing_there_meets_nothing() -> None:
    assert seen(signature("failure", needs=(condition("context"),)), log(failure=50)) == []
    assert seen(signature("failure", unless=(condition("context"),)), log(failure=50)) == [("file0", 50)]
    assert seen(signature("failure"), log(context=50)) == []


def test_all_needs_and_no_unless() -> None:
    one = signature(
        "failure",
        needs=(condition("context", "before"), condition("detail", "after", 5)),
        unless=(condition("excuse", "same-line"), condition("harmless")),
    )
    good = {"failure": 50, "context": 10, "detail": 53}
    assert seen(one, log(**good)) == [("file0", 50), ("file0", 10), ("file0", 53)]
    for changed in ({"context": 51}, {"detail": 56}, {"excuse": 50}, {"harmless": 99}):
        assert seen(one, log(**{**good, **changed})) == []
    assert seen(one, log(**good, excuse=51)) != []


def test_the_first_line_whose_conditions_are_met() -> None:
    one = signature("failure", needs=(condition("context", "before", 3),))
    assert seen(one, "failure\nx\ncontext\nfailure\ncontext\nfailure\n") == [("file0", 4), ("file0", 3)]


def test_parts_of_one_line_are_one_line() -> None:
    # A progress bar before the message: the terminal showed them on one line.
    one = signature("failure", needs=(condition("context", "same-line"),))
    assert seen(one, "x\ncontext 99%\rfailure\n") == [("file0", 2), ("file0", 2)]


# -- over two inputs --------------------------------------------------------------------------------------------------


def test_distance_does_not_reach_into_another_input() -> None:
    near = signature("failure", needs=(condition("context", "anywhere", 500),))
    assert seen(near, "context\n", "failure\n") == []
    assert seen(near, "failure\n", "context\n") == []
    assert seen(near, "context\n", "x\n", "failure\ncontext\n") == [("file2", 1), ("file2", 2)]
    # The same line number in two inputs is not the same line.
    same = signature("failure", needs=(condition("context", "same-line"),))
    assert seen(same, "context\n", "failure\n") == []


@pytest.mark.parametrize("gap", [0, 1, 7])
def test_order_goes_on_over_inputs(gap: int) -> None:
    between = ["x\n" * 1000] * gap
    before = signature("failure", needs=(condition("context", "before"),))
    after = signature("failure", needs=(condition("context", "after"),))
    assert seen(before, "context\n", *between, "failure\n") == [(f"file{gap + 1}", 1), ("file0", 1)]
    assert seen(before, "failure\n", *between, "context\n") == []
    assert seen(after, "failure\n", *between, "context\n") == [("file0", 1), (f"file{gap + 1}", 1)]
    assert seen(after, "context\n", *between, "failure\n") == []


# -- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "figure", "met"),
    [
        (Bound("value", above=15), "15.1", True),
        (Bound("value", above=15), "15", False),
        (Bound("value", above=15), "15.0", False),
        (Bound("value", below=15), "14.99", True),
        (Bound("value", below=15), "15", False),
        (Bound("value", above=1, below=15), "7", True),
        (Bound("value", above=1, below=15), "1", False),
        (Bound("value", above=1, below=15), "16", False),
        (Bound("value", above=1000), "1,024.5", True),  # with separators of thousands
        (Bound("value", above=0), "", False),
        (Bound("value", above=0), "1.2.3", False),
        (Bound("value", above=0), "...", False),
        (Bound("value", above=0), ",", False),
        (Bound("value", above=0), "9" * 400, True),
        (Bound("missing", above=0), "7", False),
        (Bound("value"), "7", True),
    ],
)
def test_bounds(bound: Bound, figure: str, met: bool) -> None:
    one = signature("busbw (?P<value>[0-9.,]*)", numbers=(bound,))
    assert bool(seen(one, f"rank 0 busbw {figure} GB/s\n")) is met


def test_a_later_line_may_meet_the_bound() -> None:
    one = signature("busbw (?P<value>[0-9.]+)(?P<unit> GB/s)?", numbers=(Bound("value", below=15),))
    found, _ = read([one], "busbw 22\nbusbw 3.0 GB/s\nbusbw 2\n")
    assert [(item.match.number, item.match.groups) for item in found] == [(2, {"value": "3.0", "unit": " GB/s"})]
    found, _ = read([one], "busbw 3.0\n")
    assert found[0].match.groups == {"value": "3.0"}  # what did not match is not there


# -- what is kept -----------------------------------------------------------------------------------------------------


@given(st.integers(0, 300))
def test_the_first_and_the_last_matches_are_kept(count: int) -> None:
    one = signature("failure")
    _, matcher = read([one], "failure\n" * count)
    numbers = [match.number for match in matcher.of("failure")]
    every = list(range(1, count + 1))
    few = count <= KEPT_FIRST + KEPT_LAST
    assert numbers == (every if few else every[:KEPT_FIRST] + every[-KEPT_LAST:])


@pytest.mark.parametrize("place", ["anywhere", "same-line"])
def test_conditions_hold_where_there_are_too_many_lines_to_keep(place: str) -> None:
    # "failed, falling back" among a thousand lines that fall back: what excuses the failure is on its own line.
    rows = ["falling back"] * 1000
    rows[500] = "failure, falling back"
    text = "\n".join(rows)
    here = condition("falling back", place, 1)
    assert seen(signature("failure", unless=(here,)), text) == []
    assert seen(signature("failure", needs=(here,)), text)[0] == ("file0", 501)
    rows[500] = "failure"
    assert seen(signature("failure", unless=(condition("falling back", "same-line"),)), "\n".join(rows)) != []


def test_patterns_that_share_a_literal_and_a_literal_with_two_patterns() -> None:
    rows = [signature("CUDA error: [a-z]+"), signature("CUDA error: [0-9]+"), signature("(?:CUDA error|Xid [0-9]+): x")]
    found, matcher = read(rows, "CUDA error: 700\nXid 79: x\nCUDA error: x\n")
    assert [item.match.number for item in found] == [3, 1, 2]
    assert len(matcher.literals) == len(set(matcher.literals))
    assert matcher.of("never asked for") == []


def test_rows_of_the_catalogue_as_signatures() -> None:
    row = {"code": "a-code", "pattern": "failure", "literals": ["failure"]}
    (plain,) = signatures_of({"G3": [row]})
    assert plain == Signature("G3", "a-code", "failure", ("failure",))
    assert (plain.full_code, plain.kind, plain.confidence, plain.weight) == ("G3.a-code", "cause", "high", 0)
    part = {"pattern": "context", "literals": ["context"], "place": "before", "within": 9}
    more = {"needs": [part], "unless": [part], "numbers": [{"group": "x", "below": 3}], "device": "unified"}
    (full,) = signatures_of({"G3": [{**row, **more}]})
    assert full.needs == full.unless == (Condition("context", ("context",), "before", 9),)
    assert (full.numbers, full.device) == ((Bound("x", None, 3),), "unified")
