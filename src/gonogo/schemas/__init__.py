"""The published JSON schemas (draft 2020-12): those of the outputs as files here, that of facts from its types."""

from __future__ import annotations

import collections.abc
import json
import types
import typing
from importlib import resources
from typing import Any

from gonogo.node.facts import codec, document
from gonogo.node.facts.missing import REASONS, Missing

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def names() -> list[str]:
    """The names of all schemas."""
    files = [entry.name for entry in resources.files(__name__).iterdir() if entry.name.endswith(".json")]
    return sorted(["facts", *(name.removesuffix(".json") for name in files)])


def schema(name: str) -> dict[str, Any] | None:
    """The schema of that name, or None."""
    if name not in names():
        return None
    if name == "facts":
        return facts_schema()
    text = resources.files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def facts_schema() -> dict[str, Any]:
    """The schema of a facts document of this version."""
    sections = {name: {"anyOf": [_type(codec.section_type(name)), _MISSING]} for name in codec.section_names()}
    run = _type(document.CollectorRun)
    return {
        "$schema": DRAFT,
        "title": "gonogo facts",
        "type": "object",
        "required": ["schema", "schema_version", "sections"],
        "additionalProperties": False,
        "properties": {
            "schema": {"const": document.SCHEMA},
            "schema_version": {"const": document.SCHEMA_VERSION},
            "tool_version": {"type": "string"},
            "collected_at": {"type": "string", "description": "UTC, ISO 8601"},
            "collectors": {"type": "array", "items": run},
            "sections": {"type": "object", "properties": sections, "additionalProperties": False},
        },
        "$defs": {
            "missing": {
                "type": "object",
                "required": ["missing"],
                "additionalProperties": False,
                "properties": {"missing": {"enum": list(REASONS)}, "detail": {"type": "string"}},
            }
        },
    }


_MISSING = {"$ref": "#/$defs/missing"}


def _type(kind: Any) -> dict[str, Any]:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_type(option) for option in typing.get_args(kind)]}
    if kind is Missing:
        return _MISSING
    if origin is tuple:
        return {"type": "array", "items": _type(typing.get_args(kind)[0])}
    if origin is collections.abc.Mapping:
        return {"type": "object", "additionalProperties": _type(typing.get_args(kind)[1])}
    if hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind)
        return {
            "type": "object",
            "required": [name for name in kind._fields if name not in kind._field_defaults],
            "additionalProperties": False,
            "properties": {name: _type(hints[name]) for name in kind._fields},
        }
    return {"type": _SCALARS[kind]}
