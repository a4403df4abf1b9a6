"""Literals of a pattern: whatever the pattern matches holds one of them. The oracle is `re` with made-up matches."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gonogo import catalogue
from gonogo.logs.literals import LONG_ENOUGH, MOST, SHORTEST, required

LETTERS = "abcdefgXYZ_ :"


def patterns() -> list[str]:
    found: set[str] = set()
    for rows in catalogue.signatures().values():
        for row in rows:
            found |= {part["pattern"] for part in (row, *row.get("needs", ()), *row.get("unless", ()))}
    return sorted(found)


def _words() -> st.SearchStrategy[str]:
    return st.text(LETTERS, min_size=1, max_size=7).map(re.escape)


def _larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequence = st.lists(parts, min_size=1, max_size=4).map("".join)
    return st.one_of(
        sequence,
        st.lists(sequence, min_size=2, max_size=4).map(lambda branches: f"(?:{'|'.join(branches)})"),
        sequence.map(lambda part: f"({part})"),
        sequence.map(lambda part: f"(?i:{part})"),
        sequence.map(lambda part: f"(?s:{part})"),
        st.tuples(sequence, st.sampled_from(["?", "*", "+", "{2}", "{0,1}", "{1,3}", "{0}", "??", "*?", "+?"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        ),
    )


#: Expressions of the kinds that signatures are written in.
EXPRESSIONS = st.recursive(
    st.one_of(
        _words(), st.sampled_from(["[abc]", "[a-z]", "[^a]", ".", r"\b", "^", r"\d+", "[0-9]*", r"\s", "(?:|ab)"])
    ),
    _larger,
    max_leaves=12,
)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(EXPRESSIONS, st.data())
def test_every_match_holds_one_of_them(pattern: str, data: Any) -> None:
    try:
        literals = required(pattern)
    except ValueError:
        assume(False)
    assert literals
    assert all(len(literal) >= SHORTEST for literal in literals)
    assert len(literals) <= MOST
    try:
        text = data.draw(st.from_regex(pattern))
    except ValueError:  # hypothesis cannot make a match of "a^"
        assume(False)
    found = re.search(pattern, text)
    assert found is not None
    assert any(literal in found.group() for literal in literals), (literals, text)


@pytest.mark.parametrize("start", range(0, 10))
def test_the_catalogue_s_own_literals(start: int) -> None:
    # Made up from each pattern that ships; a signature that the scan would overlook is worth nothing.
    for pattern in patterns()[start::10]:
        _holds(pattern)


def _holds(pattern: str) -> None:
    literals, compiled = required(pattern), re.compile(pattern)

    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    @given(st.from_regex(compiled))
    def check(text: str) -> None:
        found = compiled.search(text)
        assert found is not None
        assert any(literal in found.group() for literal in literals), (pattern, text)

    check()


def test_the_catalogue_holds_what_is_worked_out() -> None:
    # _catalogue.py is made at build time: the literals in it are those of its patterns.
    for rows in catalogue.signatures().values():
        for row in rows:
            for part in (row, *row.get("needs", ()), *row.get("unless", ())):
                assert tuple(part["literals"]) == required(part["pattern"])


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("CUDA out of memory", ("CUDA out of memory",)),
        (r"libcudart\.so\.(?P<major>1[0-9]): cannot", ("libcudart.so.",)),
        ("(?:ImportError|OSError): x", ("ImportError: x", "OSError: x")),
        ("[Ee]rror: bad", ("Error: bad", "error: bad")),
        ("^Killed$", ("Killed",)),
        (r"\bXid \(", ("Xid (",)),
        ("(?:ab)?cdef", ("abcdef", "cdef")),
        ("a.{0,9}(?:first|second)[0-9]+", ("first", "second")),
        ("(?:word){2,3}", ("word",)),
        ("(?i:any) case, but not here", (" case, but not here",)),
        ("Speicher f\u00fcr Ger\u00e4t", ("Speicher f\u00fcr Ger\u00e4t",)),
    ],
)
def test_by_hand(pattern: str, literals: tuple[str, ...]) -> None:
    assert required(pattern) == literals


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "",
            "abc",
            "[a-z]+",
            ".*",
            r"\d{4}",
            "(?:abcd)?",
            "(?:abcd)*",
            "abcd|",
            "abcd|[a-z]+",
            "(?:abcd|x)yz",
            "(abcd){0}",
        ),
        *("(?i)abcdef", "(?i:abcdef)", "x(?i:abcdef)y", "((?i:abcdef))", "(?i:abcdef)?", "abcdef|(?i:ghijkl)"),
    ],
)
def test_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="literal"):
        required(pattern)


def test_the_most_telling_set_is_taken() -> None:
    # One long literal rather than two, and a long one rather than a short one.
    assert required("(?:abcd|efgh) [0-9]+ then something long") == (" then something long",)
    assert required("abcd[0-9]+efghijk") == ("efghijk",)
    one, many = "x" * LONG_ENOUGH, "(?:" + "|".join(letter * (LONG_ENOUGH + 5) for letter in "abc") + ")"
    assert required(f"{many}[0-9]+{one}") == (one,)
