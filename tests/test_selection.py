"""Selection by dot-separated parts: G1 takes G1.*, not G10 (docs/contract.md)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.selection import Selection, SelectionError, parse

GOTCHAS = ("G1", "G2", "G3", "G10", "G12")
CODES = ("G1.older-major", "G1.unresolved-library", "G10.link", "G12.cpu-only")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], ()),
        (["G1"], ("G1",)),
        (["g1,g10"], ("G1", "G10")),
        (["G1", "G3, G2 "], ("G1", "G3", "G2")),
        (["G1.Older-Major"], ("G1.older-major",)),
        (["", ",", " , G1,"], ("G1",)),
    ],
)
def test_parse(texts: list[str], expected: tuple[str, ...]) -> None:
    assert parse(texts, GOTCHAS, CODES) == expected


@pytest.mark.parametrize(
    "text",
    ["G", "GG", "G0", "G01", "G11", "1", "G1.", ".G1", "G1.older", "G1.older-major.x", "G10.older-major", "G1 G2"],
)
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(SelectionError, match="unknown gotcha"):
        parse([text], GOTCHAS, CODES)


@pytest.mark.parametrize(
    ("select", "ignore", "code", "kept"),
    [
        ((), (), "G1.ok", True),
        (("G1",), (), "G1.ok", True),
        (("G1",), (), "G10.ok", False),
        (("G1",), (), "G12.cpu-only", False),
        (("G10",), (), "G1.ok", False),
        (("G1.older-major",), (), "G1.older-major", True),
        (("G1.older-major",), (), "G1.older-major-twice", False),
        (("G1.older-major",), (), "G1.ok", False),
        ((), ("G1",), "G1.ok", False),
        ((), ("G1",), "G10.ok", True),
        (("G1",), ("G1.older-major",), "G1.ok", True),
        (("G1",), ("G1.older-major",), "G1.older-major", False),
        (("G1",), ("G1",), "G1.ok", False),
    ],
)
def test_keeps(select: tuple[str, ...], ignore: tuple[str, ...], code: str, kept: bool) -> None:
    assert Selection(select, ignore).keeps(code) is kept


@pytest.mark.parametrize(
    ("select", "ignore", "gotcha", "touched"),
    [
        ((), (), "G1", True),
        (("G10",), (), "G1", False),
        (("G1",), (), "G10", False),
        (("G1.older-major",), (), "G1", True),
        (("G10.link",), (), "G1", False),
        ((), ("G1",), "G1", False),
        ((), ("G1.older-major",), "G1", True),
        ((), ("G10",), "G1", True),
    ],
)
def test_touches(select: tuple[str, ...], ignore: tuple[str, ...], gotcha: str, touched: bool) -> None:
    assert Selection(select, ignore).touches(gotcha) is touched


gotchas = st.integers(1, 30).map(lambda number: f"G{number}")
codes = st.builds(lambda gotcha, name: f"{gotcha}.{name}", gotchas, st.sampled_from(["ok", "skipped", "a", "a-b", "b"]))
selectors = st.lists(st.one_of(gotchas, codes), max_size=5).map(tuple)


def parts_cover(selector: str, code: str) -> bool:
    """The rule again, by splitting: the selector's parts are the first parts of the code."""
    wanted, given_ = selector.split("."), code.split(".")
    return given_[: len(wanted)] == wanted


@given(selectors, selectors, codes)
def test_keeps_is_the_rule_of_parts(select: tuple[str, ...], ignore: tuple[str, ...], code: str) -> None:
    wanted = not select or any(parts_cover(selector, code) for selector in select)
    dropped = any(parts_cover(selector, code) for selector in ignore)
    assert Selection(select, ignore).keeps(code) is (wanted and not dropped)


@given(selectors, selectors, codes)
def test_a_judge_runs_whenever_a_finding_of_it_would_be_kept(
    select: tuple[str, ...], ignore: tuple[str, ...], code: str
) -> None:
    selection = Selection(select, ignore)
    assert selection.touches(code.partition(".")[0]) or not selection.keeps(code)


@given(st.lists(st.sampled_from([*GOTCHAS, *CODES]), max_size=6), st.booleans())
def test_parse_reads_what_was_joined(chosen: list[str], lower: bool) -> None:
    text = ",".join(chosen)
    if not chosen:
        with pytest.raises(SelectionError, match="empty"):
            parse([text], GOTCHAS, CODES)
        return
    assert parse([text.lower() if lower else text], GOTCHAS, CODES) == tuple(chosen)


@given(st.text(max_size=30))
def test_parse_never_fails_otherwise(text: str) -> None:
    try:
        found = parse([text], GOTCHAS, CODES)
    except SelectionError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert set(found) <= {*GOTCHAS, *CODES}
