"""Sizes as people type them and versions as software prints them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.units import gib, parse_size, version_parts

#: Binary by IEC 80000-13 (KiB ... TiB), decimal by the SI (kB ... TB); bare letters binary, as docker and free -g.
FACTORS = {
    **{"": 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4},
    **{"kB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4},
    **{"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4},
}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("70GiB", 75_161_927_680),
        ("70GB", 70_000_000_000),
        ("70G", 75_161_927_680),
        ("70g", 75_161_927_680),
        ("70 gib", 75_161_927_680),
        (" 70GiB ", 75_161_927_680),
        ("1", 1),
        ("4096", 4096),
        ("512b", 512),
        ("0.5GiB", 536_870_912),
        ("1.5kB", 1500),
        ("1.005kB", 1005),  # 1004.9999999999999 in floating point
        ("999999999TB", 999_999_999_000_000_000_000),
    ],
)
def test_parse_size(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "GiB", "-1", "+1", "0", "0GiB", "0.0001", "nan", "inf", "1e9", "1e9GiB", "0x10", "70XB", "70iB"),
        *(
            "1,5GiB",
            "1.GiB",
            ".5GiB",
            "70GiBs",
            "70 Gi B",
            "70GiB 1",
            "1_000",
            "\uff17\uff10GiB",
            "\u0667GiB",
            "1234567890",
            "G70",
        ),
        *("70gigabytes", "70GiB\n70GiB", "70\x00GiB", "1.1234567GiB"),
    ],
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_size(text)
    assert len(str(raised.value).splitlines()) == 1


@given(
    st.integers(0, 10**9 - 1),
    st.text("0123456789", max_size=6),
    st.sampled_from(sorted(FACTORS)),
    st.sampled_from([str, str.lower, str.upper]),
    st.sampled_from(["", " "]),
)
def test_a_size_is_exact(whole: int, fraction: str, unit: str, spell: type[str], space: str) -> None:
    number = f"{whole}.{fraction}" if fraction else str(whole)
    exact = int(Decimal(number) * FACTORS[unit])
    text = f"{number}{space}{spell(unit)}"
    if exact:
        assert parse_size(text) == exact
    else:
        with pytest.raises(ValueError, match="more than nothing"):
            parse_size(text)


@given(st.text(max_size=20))
def test_any_text_is_a_size_or_refused_in_one_line(text: str) -> None:
    try:
        assert parse_size(text) > 0
    except ValueError as error:
        assert str(error).isprintable()


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0.0"), (1 << 30, "1.0"), (70 << 30, "70.0"), ((1 << 30) * 3 // 2, "1.5"), (107_374_182, "0.1"), (1, "0.0")],
)
def test_gib(size_bytes: int, text: str) -> None:
    assert gib(size_bytes) == text


@given(st.integers(0, 1 << 50))
def test_gib_is_right_to_a_tenth(size_bytes: int) -> None:
    assert abs(Decimal(gib(size_bytes)) - Decimal(size_bytes) / 2**30) <= Decimal("0.05")


@pytest.mark.parametrize(
    ("version", "parts"),
    [
        ("13.0", (13, 0)),
        ("12.8.1", (12, 8, 1)),
        ("580.95.05", (580, 95, 5)),
        ("13", (13,)),
        ("", ()),
        ("abc", ()),
        ("2.9.1+cu130", (2, 9, 1)),
        ("2.10.0a0+git1234", (2, 10, 0)),
        ("2.9rc1.5", (2, 9)),  # what follows a part that is not all number does not count
        ("12..1", (12,)),
        (".1", ()),
        ("-1.2", ()),
    ],
)
def test_version_parts(version: str, parts: tuple[int, ...]) -> None:
    assert version_parts(version) == parts


@given(st.lists(st.integers(0, 999_999), min_size=1, max_size=5))
def test_version_parts_reads_back(parts: list[int]) -> None:
    assert version_parts(".".join(str(part) for part in parts)) == tuple(parts)


@given(st.text(max_size=40))
def test_any_text_has_version_parts(text: str) -> None:
    assert all(part >= 0 for part in version_parts(text))
