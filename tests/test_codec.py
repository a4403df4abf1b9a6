"""Facts to JSON and back: what goes in comes out, and what is no facts document is refused in one line."""

from __future__ import annotations

import collections.abc
import json
import typing
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gonogo.node import collect
from gonogo.node.facts import codec, document
from gonogo.node.facts.codec import FactsError, decode, document_of, encode_value, section_names, section_type
from gonogo.node.facts.document import CollectorRun, Facts
from gonogo.node.facts.missing import NOT_COLLECTED, REASONS, UNCOLLECTED, Missing
from gonogo.node.facts.sections.memory import Memory

SECTIONS = section_names()

# -- values of every type ---------------------------------------------------------------------------------------------

#: Texts that the format itself uses are texts like any other: a constraint file may pin a package of such a name.
texts = st.text(max_size=12) | st.sampled_from(["missing", "detail", "failed", "base64", "text", "", "\n", "null"])
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    # No fact is larger than a signed 64-bit number: see the codec.
    int: st.integers(1 - 2**63, 2**63 - 1),
    float: st.floats(-(2.0**62), 2.0**62) | st.sampled_from([0.0, -0.0, 5e-324]),
    bool: st.booleans(),
    Missing: st.builds(Missing, st.sampled_from(REASONS), texts) | st.just(UNCOLLECTED),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a section's type, or of one that occurs in it."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in SCALARS:
        return SCALARS[kind]
    if origin is tuple:
        return st.lists(values(inner[0]), max_size=3).map(tuple)
    if origin is collections.abc.Mapping:
        return st.dictionaries(values(inner[0]), values(inner[1]), max_size=3)
    if inner:
        return st.one_of(*(values(option) for option in inner))
    # Most facts lack in most examples, so that a failing one becomes short quickly.
    fields = {name: values(hint) for name, hint in typing.get_type_hints(kind).items()}
    required = {name: fields.pop(name) for name in kind._fields if name not in kind._field_defaults}
    return st.fixed_dictionaries(required, optional=fields).map(lambda chosen: kind(**chosen))


def through_json(name: str, section: Any) -> Any:
    body = document_of({name: encode_value(section)}, [], "2026-01-07T22:33:56Z", "1.2.3")
    return decode(json.loads(json.dumps(body))).sections[name]


@pytest.mark.parametrize("name", SECTIONS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_every_section_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    section = data.draw(values(section_type(name)) | SCALARS[Missing])
    back = through_json(name, section)
    assert back == section
    assert type(back) is type(section)


def test_a_section_a_collector_and_a_schema_have_the_same_names() -> None:
    assert collect.names() == SECTIONS


@pytest.mark.parametrize("key", ["missing", "detail", "text"])
def test_a_mapping_may_hold_the_words_of_the_format(key: str) -> None:
    # PIP_CONSTRAINT with the line `missing==1.0` is a constraint, no lack of one.
    python = section_type("python")("/p", "--python", constraints={key: "1.0"})
    assert through_json("python", python) == python


def test_what_was_not_collected_is_left_out() -> None:
    # 121 GiB = 129922760704 bytes, by hand.
    assert encode_value(Memory(total_bytes=129_922_760_704)) == {"total_bytes": 129_922_760_704}
    assert through_json("memory", Memory()).available_bytes == Missing(NOT_COLLECTED)
    assert encode_value(Missing("failed")) == {"missing": "failed"}
    assert encode_value(Missing("failed", "why")) == {"missing": "failed", "detail": "why"}


def test_whole_numbers_serve_as_figures_and_come_back_as_such() -> None:
    body = document_of({"memory": {"pressure_some_avg10_percent": 3}}, [], "", "")
    value = decode(body).sections["memory"].pressure_some_avg10_percent
    assert (value, type(value)) == (3.0, float)


def test_a_whole_document() -> None:
    runs = [{"name": "memory", "seconds": 0.001, "outcome": "ok"}, {"name": "gpu", "seconds": 2}]
    body = document_of({"memory": {"total_bytes": 1}, "gpu": {"missing": "timed_out"}}, runs, "2026", "1.2.3")
    assert decode(json.loads(json.dumps(body))) == Facts(
        sections={"memory": Memory(total_bytes=1), "gpu": Missing("timed_out")},
        collected_at="2026",
        tool_version="1.2.3",
        collectors=(CollectorRun("memory", 0.001), CollectorRun("gpu", 2.0, "ok")),
    )


def _facts(**changes: Any) -> dict[str, Any]:
    return {"schema": "gonogo/facts", "schema_version": 2, **changes}


# -- older and partial documents --------------------------------------------------------------------------------------


def test_an_older_document_loads_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "SCHEMA_VERSION", 3)
    runs = [{"name": "memory", "seconds": 1, "removed": 1}]
    old: dict[str, Any] = _facts(
        sections={"memory": {"total_bytes": 1, "removed": 2}, "gone": {"x": 1}}, collectors=runs
    )
    assert decode(old) == Facts({"memory": Memory(total_bytes=1)}, collectors=(CollectorRun("memory", 1.0),))
    with pytest.raises(FactsError):
        decode({**old, "schema_version": 3})
    # Older is not broken: what is there has to be of its type.
    with pytest.raises(FactsError):
        decode({**old, "sections": {"memory": {"total_bytes": "1"}}})


def test_the_healthy_spark_is_read(spark: Callable[..., Any]) -> None:
    assert set(decode(spark()).sections) == set(codec.section_names())
