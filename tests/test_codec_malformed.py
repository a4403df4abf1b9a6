"""What is no facts document is refused in one line that says where; nothing else is ever raised."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gonogo.node.facts.codec import FactsError, decode
from gonogo.node.facts.document import Facts


def refused(data: Any) -> str:
    with pytest.raises(FactsError) as caught:
        decode(data)
    text = str(caught.value)
    assert text and len(text.splitlines()) == 1
    return text


def facts(**changes: Any) -> dict[str, Any]:
    return {"schema": "gonogo/facts", "schema_version": 2, "sections": {}, **changes}


def memory(value: Any) -> dict[str, Any]:
    return facts(sections={"memory": value})


@pytest.mark.parametrize(
    "data", [None, 5, "text", [], {}, {"schema": 1}, {"schema": "gonogo/raw"}, {"schema": ["gonogo/facts"]}], ids=repr
)
def test_something_foreign(data: Any) -> None:
    assert "not a gonogo facts document" in refused(data)


@pytest.mark.parametrize("version", [0, -1, None, "1", 1.0, True, [1], {}, float("nan")], ids=repr)
def test_no_version(version: Any) -> None:
    assert "schema_version" in refused(facts(schema_version=version))


@pytest.mark.parametrize("version", [3, 10**30])
def test_a_newer_version(version: int) -> None:
    assert "upgrade gonogo" in refused(facts(schema_version=version))


@pytest.mark.parametrize(
    "name", ["gpus", "", "__init__", "__doc__", "Memory", "memory.x", "../memory", "a\nb", "class", "x" * 5000]
)
@pytest.mark.parametrize("value", [{}, {"missing": "failed"}], ids=["empty", "missing"])
def test_an_unknown_section(name: str, value: Any) -> None:
    assert "unknown section" in refused(facts(sections={name: value}))


DEEP: Any = []
for _ in range(5000):  # deeper than any version of Python recurses
    DEEP = [DEEP]

MALFORMED: dict[str, dict[str, Any]] = {
    "no sections": {"schema": "gonogo/facts", "schema_version": 2},
    "sections null": facts(sections=None),
    "sections a list": facts(sections=[]),
    "section null": memory(None),
    "section text": memory("memory"),
    "section a list": memory([]),
    "unknown fact": memory({"total": 1}),
    "unknown fact of two lines": memory({"a\nb": 1}),
    "null": memory({"total_bytes": None}),
    "text for a number": memory({"total_bytes": "1"}),
    "fraction for a whole number": memory({"total_bytes": 1.5}),
    "true for a number": memory({"total_bytes": True}),
    "true for a figure": memory({"pressure_some_avg10_percent": False}),
    "not a number": memory({"pressure_some_avg10_percent": float("nan")}),
    "infinite": memory({"pressure_some_avg10_percent": float("inf")}),
    "minus infinite": memory({"pressure_some_avg10_percent": float("-inf")}),
    "beyond a double": memory({"pressure_some_avg10_percent": 10**400}),
    "more bytes than there are": memory({"total_bytes": 10**400}),
    "nested": memory({"total_bytes": DEEP}),
    "nested section": memory(DEEP),
    "missing for no reason": memory({"total_bytes": {"missing": None}}),
    "missing for an unknown reason": memory({"total_bytes": {"missing": "asleep"}}),
    "missing for a list": memory({"total_bytes": {"missing": ["failed"]}}),
    "missing for a deep list": memory({"total_bytes": {"missing": DEEP}}),
    "missing with a number for detail": memory({"total_bytes": {"missing": "failed", "detail": 5}}),
    "an object": memory({"total_bytes": {"detail": "failed"}}),
    "a required fact lacks": facts(sections={"python": {"origin": "x"}}),
    "a required fact is missing": facts(sections={"python": {"origin": "x", "executable": {"missing": "failed"}}}),
    "an object for a list": facts(sections={"gpu": {"devices": {}}}),
    "text for a list": facts(sections={"gpu": {"devices": "NVIDIA GB10"}}),
    "a list for a device": facts(sections={"gpu": {"devices": [[]]}}),
    "a device without index": facts(sections={"gpu": {"devices": [{"name": "NVIDIA GB10"}]}}),
    "a list for a mapping": facts(sections={"identity": {"dmi": []}}),
    "a number in a mapping": facts(sections={"identity": {"dmi": {"a\nb\u2028c": 1}}}),
    "collectors null": facts(collectors=None),
    "collectors an object": facts(collectors={}),
    "a collector without time": facts(collectors=[{"name": "gpu"}]),
    "a collector with more": facts(collectors=[{"name": "gpu", "seconds": 1, "more": 1}]),
    "collected_at a number": facts(collected_at=5),
    "tool_version null": facts(tool_version=None),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_something_malformed(data: dict[str, Any]) -> None:
    refused(data)


@pytest.mark.parametrize(
    "data, words",
    [
        (memory({"total_bytes": "1"}), "memory.total_bytes: expected a whole number, got text"),
        (memory({"total": 1}), "memory: unknown fact 'total'"),
        (facts(sections={"gpu": {"devices": [{"name": 5}]}}), "gpu.devices[0].name: expected text, got a whole number"),
        (facts(sections={"python": {}}), "python: executable, origin missing"),
    ],
)
def test_the_line_says_where(data: dict[str, Any], words: str) -> None:
    assert refused(data) == words


@pytest.mark.parametrize(
    "case", ["nested", "beyond a double", "a number in a mapping", "missing for an unknown reason"]
)
def test_the_command_says_it_in_one_line(case: str, gonogo: Callable[..., Any], written: Callable[[Any], str]) -> None:
    data = copy.copy(MALFORMED[case]) if case != "nested" else facts()
    path = written(data)
    if case == "nested":
        opening = '{"schema": "gonogo/facts", "schema_version": 2, "sections": {"memory": '
        Path(path).write_text(opening + "[" * 900 + "]" * 900 + "}}")
    completed = gonogo("check", "--facts", path)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert len(completed.stderr.splitlines()) == 1


# -- whatever else ----------------------------------------------------------------------------------------------------

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["missing", "detail", "name", "devices", "a\nb"]), inner, max_size=2)
    ),
    max_leaves=5,
)


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, item in pairs for place in _places(item, (*path, key)))]


def _replaced(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.copy(data)
    changed[path[0]] = _replaced(data[path[0]], path[1:], value)
    return changed


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), value=junk, key=st.sampled_from(["", "missing", "a\nb", "total_bytes", "__class__"]))
def test_a_spoilt_document_is_read_or_refused(
    spark: Callable[..., Any], data: st.DataObject, value: Any, key: str
) -> None:
    good = spark()
    place = data.draw(st.sampled_from(_places(good)))
    spoilt = [_replaced(good, place, value)]
    if place and isinstance(place[-1], str):
        parent = good
        for step in place[:-1]:
            parent = parent[step]
        spoilt.append(_replaced(good, place[:-1], {**parent, key: value}))
    for bad in spoilt:
        try:
            assert isinstance(decode(bad), Facts)
        except FactsError as error:
            assert str(error) and len(str(error).splitlines()) == 1
