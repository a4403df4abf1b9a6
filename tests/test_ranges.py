"""Version ranges. Oracles: packaging (PEP 440), dpkg --compare-versions, sort -V, and published versions."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from gonogo import ranges

SIGNS = ("==", ">=", "<=", "<", ">")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("6.17.0-1021-nvidia", (6, 17, 0, 1021)),  # uname -r of a Spark
        ("6.17.0-1021-nvidia-64k", (6, 17, 0, 1021)),
        ("580.159.03", (580, 159, 3)),
        ("580.159.03-0ubuntu0.24.04.1", (580, 159, 3)),  # Ubuntu's package: its revision takes no part
        ("5:28.5.1-1~ubuntu.24.04~noble", (28, 5, 1, 1)),  # docker-ce: an epoch
        ("3.3.2-1", (3, 3, 2, 1)),
        ("3.3.2-1build2", (3, 3, 2)),
        ("2.30.7-1+cuda13.0", (2, 30, 7, 1)),
        ("v0.17.4", (0, 17, 4)),  # an image's tag
        ("25.12-py3", (25, 12)),
        ("2.9.1+cu130", (2, 9, 1)),
        ("2.9.0a0+50eac811a6.nv25.09", (2, 9, 0)),
        ("0.11.1rc2.dev5", (0, 11, 1)),
        ("1.3.0rc20", (1, 3, 0)),
        ("5.36_0ACUM027", (5, 36)),
        ("  13.0 \n", (13, 0)),
        ("7.6.0", (7, 6, 0)),
        ("", ()),
        ("latest", ()),
        ("-1.2", ()),
        ("12345678901.5", ()),  # no version anybody gives
    ],
)
def test_the_numbers_of_real_versions(version: str, expected: tuple[int, ...]) -> None:
    assert ranges.numbers(version) == expected


@pytest.mark.parametrize(
    ("version", "range_", "expected"),
    [
        ("590.48.01", "==590", True),
        ("590.48.01", ">=590,<600", True),
        ("600.1", ">=590,<600", False),
        ("580.159.03", ">=590,<600", False),
        ("580.173.02", ">=580.173.02", True),
        ("580.178.04", ">=580.173.02", True),
        ("580.95.05", ">=580.126", False),  # numbers, not text
        ("6.17.0-1021-nvidia", "==6.17.0-1021", True),
        ("6.17.0-102-nvidia", "==6.17.0-1021", False),
        ("6.17.0-1031-nvidia", "==6.17.0-1021", False),
        ("6.17.0-10210-nvidia", "==6.17.0-1021", False),
        ("7.0.0-1019-nvidia", "==7.0.0-1019", True),
        ("3.3.2-1", ">=3.3.1,<3.4.0", True),
        ("3.4.0-1", ">=3.3.1,<3.4.0", False),
        ("3.3.0-1", ">=3.3.1,<3.4.0", False),
        ("3.0.2-1ubuntu1", ">=3.3.1,<3.4.0", False),
        ("v0.17.1", "<0.17.4", True),
        ("v0.17.4", "<0.17.4", False),
        ("2.7.1", "<=2.7.1", True),
        ("v2.7.2", "<=2.7.1", False),
        ("7.6", ">=7.6", True),
        ("7.6.0", ">=7.6", True),
        ("7.5.0", ">=7.6", False),
        ("3.4", "==3.4.0", True),
        ("1.3.5rc1", "<1.3.1", False),
        ("anything", "*", True),
        ("latest", ">=1", False),
        ("latest", "<1", False),
        ("", "<1", False),
    ],
)
def test_ranges_of_published_versions(version: str, range_: str, expected: bool) -> None:
    assert ranges.within(version, range_) is expected


@pytest.mark.parametrize(
    "text", ["", ">=", "590", "=590", "!=590", ">=590,", ">=590;<600", ">=a", ">= 5 90", "~=1.2", "**"]
)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no range of versions"):
        ranges.clauses(text)
    with pytest.raises(ValueError, match="no range of versions"):
        ranges.within("1.0", text)


def test_the_clauses_of_a_range() -> None:
    assert ranges.clauses("*") == ranges.clauses(" * ") == []
    assert ranges.clauses(">=590 , <600") == [(">=", (590,)), ("<", (600,))]
    assert ranges.clauses("==6.17.0-1021") == [("==", (6, 17, 0, 1021))]


releases = st.lists(st.integers(0, 2000), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))


@given(version=releases, sign=st.sampled_from(SIGNS), limit=releases)
def test_releases_compare_as_pep_440_has_them(version: str, sign: str, limit: str) -> None:
    # "==1.2" holds for 1.2.x here, which packaging writes as "==1.2.*".
    specifier = SpecifierSet(f"=={limit}.*" if sign == "==" else f"{sign}{limit}")
    assert ranges.within(version, f"{sign}{limit}") == (version in specifier)


@given(
    version=releases,
    suffix=st.sampled_from(["+cu130", "-nvidia", "rc1", "a0+git", "-0ubuntu0.24.04.1", "~rc1", ".dev1"]),
)
def test_a_suffix_takes_no_part(version: str, suffix: str) -> None:
    assert ranges.numbers(version + suffix) == ranges.numbers(version)
    assert ranges.within(version + suffix, f"=={version}")


@given(text=st.text(max_size=40))
def test_any_text_is_a_version_without_an_error(text: str) -> None:
    assert all(number >= 0 for number in ranges.numbers(text))
    assert ranges.within(text, "*")
    assert isinstance(ranges.within(text, ">=1.2,<3"), bool)


DEBIAN = ["3.3.0-1", "3.3.2-1", "3.4.0-1", "580.159.03-1", "580.173.02-1", "5:28.5.1-1", "5:29.2.1-2", "1.19.0-1"]


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="dpkg is the oracle")
def test_debian_versions_compare_as_dpkg_has_them() -> None:
    for one in DEBIAN:
        for other in (item for item in DEBIAN if (":" in item) == (":" in one)):
            plain = other.partition(":")[2] or other
            less = subprocess.run(["dpkg", "--compare-versions", one, "lt", other], check=False).returncode == 0
            assert ranges.within(one, f"<{plain}") == less, (one, other)


KERNELS = ["6.11.0-1016", "6.14.0-1015", "6.17.0-1004", "6.17.0-1008", "6.17.0-1021", "6.17.0-1031", "7.0.0-1019"]


def test_kernels_stand_in_the_order_of_sort() -> None:
    ordered = subprocess.run(
        ["sort", "-V"], input="\n".join(reversed(KERNELS)), capture_output=True, text=True, check=True
    )
    assert ordered.stdout.split() == KERNELS == sorted(KERNELS, key=ranges.numbers)
