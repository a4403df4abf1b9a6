"""A malformed recording raises ValueError, in one line, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gonogo.node import raw

GOOD = {
    "schema": raw.SCHEMA,
    "schema_version": 1,
    "recording": {
        "files": {
            "read": {
                "/proc/meminfo": {"text": "MemTotal: 1 kB\n"},
                "/x": {"base64": "AP8="},
                "/y": {"missing": "failed"},
            }
        },
        "commands": {"id": {"status": 0, "output": {"text": ""}, "errors": {"text": ""}}},
        "devices": {"open": None, "nvmlDeviceGetCount -": 1, "list": [{"pid": 1}]},
        "environment": {"PATH": "/bin"},
        "host": {"system": "Linux", "user": 0},
    },
}
DEEP: Any = []
for _ in range(5000):  # deeper than any version of Python recurses
    DEEP = [DEEP]


def _refused(data: Any) -> str:
    with pytest.raises(ValueError) as caught:
        raw.host_of(data)
    text = str(caught.value)
    assert text and len(text.splitlines()) == 1
    return text


def _with(part: str, value: Any) -> dict[str, Any]:
    return {**GOOD, "recording": {**GOOD["recording"], part: value}}  # type: ignore[dict-item]


def test_the_good_one_is_good() -> None:
    assert raw.host_of(GOOD).files.read("/x") == b"\x00\xff"


@pytest.mark.parametrize("part", ["files", "commands", "devices", "environment", "host"])
@pytest.mark.parametrize("value", [None, 5, "text", ["a"], [[1, 2, 3]]], ids=str)
def test_a_part_of_another_type(part: str, value: Any) -> None:
    _refused(_with(part, value))


@pytest.mark.parametrize("part", ["files", "commands", "devices", "environment", "host"])
def test_a_part_that_is_not_there(part: str) -> None:
    kept = {name: value for name, value in GOOD["recording"].items() if name != part}  # type: ignore[attr-defined]
    _refused({**GOOD, "recording": kept})


@pytest.mark.parametrize("version", [0, 2, 10**30, -1, True, "1", None, 1.0, [1]], ids=str)
def test_another_version(version: Any) -> None:
    assert "schema" in _refused({**GOOD, "schema_version": version})


BAD_ANSWERS = {
    "reason": {"missing": "asleep"},
    "reason of another type": {"missing": ["failed"]},
    "base64": {"base64": "!"},
    "base64 of another type": {"base64": 5},
    "base64 beyond ASCII": {"base64": "é"},
    "status": {"status": "x\ny", "output": None, "errors": None},
    "status null": {"status": None, "output": None, "errors": None},
    # Python's json reads 1e999 and Infinity as a float that is no whole number.
    "status infinite": {"status": float("inf"), "output": None, "errors": None},
    "status nan": {"status": float("nan"), "output": None, "errors": None},
    "nested": DEEP,
}


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_an_answer_that_is_none(answer: Any) -> None:
    _refused(_with("devices", {"open": answer}))
    _refused(_with("files", {"read": {"/x": answer}}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["missing", "detail", "text", "base64", "status", "output", "errors", "read", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(part=st.sampled_from(sorted(GOOD["recording"])), value=json_values)  # type: ignore[call-overload]
def test_whatever_a_part_is_only_value_error_is_raised(part: str, value: Any) -> None:
    try:
        raw.host_of(_with(part, value))
    except ValueError as error:
        assert len(str(error).splitlines()) == 1
