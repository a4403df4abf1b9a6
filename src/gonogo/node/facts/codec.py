"""Facts to JSON-ready data and back.

Encoding runs on Python 3.8 (in the zipapp). Decoding resolves the sections' annotations and is used by the
judging side only.
"""

from __future__ import annotations

import collections.abc
import importlib
import types
import typing
from typing import Any, Mapping, NamedTuple

from gonogo.node.facts import document, sections
from gonogo.node.facts.document import CollectorRun, Facts
from gonogo.node.facts.missing import FAILED, REASONS, UNCOLLECTED, Missing
from gonogo.node.modules import submodules


class FactsError(ValueError):
    """The document is not facts that this version can read; the message is one line of ASCII."""

    def __init__(self, message: str) -> None:
        super().__init__(message.encode("unicode_escape").decode("ascii"))


# -- encoding ---------------------------------------------------------------------------------------------------------


def encode_value(value: Any) -> Any:
    """``value`` as JSON-ready data. A Missing becomes ``{"missing": reason, "detail": ...}``; defaults are left out."""
    if isinstance(value, Missing):
        return {"missing": value.reason, **({"detail": value.detail} if value.detail else {})}
    if hasattr(value, "_fields"):
        pairs = zip(value._fields, value)
        return {name: encode_value(item) for name, item in pairs if item is not UNCOLLECTED}
    if isinstance(value, (tuple, list)):
        return [encode_value(item) for item in value]
    if isinstance(value, collections.abc.Mapping):
        return {_escaped(str(key)): encode_value(item) for key, item in value.items()}
    return value


def _escaped(key: str) -> str:
    # "missing" marks a fact without a value; as a key of a mapping (a pin of that name) it is marked itself.
    return f"={key}" if key.lstrip("=") == "missing" else key


def _unescaped(key: str) -> str:
    return key[1:] if key.startswith("=") and key.lstrip("=") == "missing" else key


def document_of(encoded: Mapping[str, Any], collectors: Any, collected_at: str, tool_version: str) -> dict[str, Any]:
    """The facts document around already encoded sections."""
    return {
        "schema": document.SCHEMA,
        "schema_version": document.SCHEMA_VERSION,
        "tool_version": tool_version,
        "collected_at": collected_at,
        "collectors": collectors,
        "sections": encoded,
    }


class Rules(NamedTuple):
    """How strictly to decode: whether unknown keys pass (an older schema), whether a bad fact becomes a Missing."""

    unknown_keys: bool = False
    forgiving: bool = False


STRICT = Rules()

# -- decoding ---------------------------------------------------------------------------------------------------------


def section_names() -> list[str]:
    """The names of all sections, in alphabetical order."""
    return submodules(sections.__path__)


def section_type(name: str) -> Any:
    """The type of section ``name``, or None when there is no such section."""
    if not name.isidentifier() or name.startswith("_"):
        return None
    try:
        module = importlib.import_module(f"{sections.__name__}.{name}")
    except ModuleNotFoundError:
        return None
    return getattr(module, name.capitalize(), None)


# X | Y and Union[X, Y] are different things until Python 3.14.
_UNIONS = (typing.Union, getattr(types, "UnionType", None))
_HINTS: dict[type, dict[str, Any]] = {}


def _hints(kind: type) -> dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = typing.get_type_hints(kind)
    return _HINTS[kind]


def decode_value(kind: Any, data: Any, where: str, rules: Rules = STRICT) -> Any:
    """``data`` as a value of type ``kind``; ``where`` is its path for messages. Raises FactsError."""
    origin = typing.get_origin(kind)
    if origin in _UNIONS:
        options = typing.get_args(kind)
        if Missing in options and isinstance(data, dict) and "missing" in data:
            return _decode_missing(data, where)
        wanted = next(option for option in options if option is not Missing)
        if not rules.forgiving:
            return decode_value(wanted, data, where, rules)
        try:
            return decode_value(wanted, data, where, rules)
        except FactsError as error:  # one absurd value costs one fact
            return Missing(FAILED, str(error))
    if origin is tuple:
        if not isinstance(data, list):
            raise FactsError(f"{where}: expected a list, got {_kind_of(data)}")
        item = typing.get_args(kind)[0]
        return tuple(decode_value(item, entry, f"{where}[{i}]", rules) for i, entry in enumerate(data))
    if origin is collections.abc.Mapping:
        if not isinstance(data, dict):
            raise FactsError(f"{where}: expected an object, got {_kind_of(data)}")
        value_kind = typing.get_args(kind)[1]
        return {
            _unescaped(key): decode_value(value_kind, entry, f"{where}.{key}", rules) for key, entry in data.items()
        }
    if hasattr(kind, "_fields"):
        return _decode_record(kind, data, where, rules)
    return _decode_scalar(kind, data, where)


def _decode_missing(data: dict[str, Any], where: str) -> Missing:
    reason, detail = data["missing"], data.get("detail", "")
    if not isinstance(reason, str) or reason not in REASONS or not isinstance(detail, str):
        shown = reason[:40] if isinstance(reason, str) else _kind_of(reason)
        raise FactsError(f"{where}: unknown reason {shown} for a missing fact")
    return Missing(reason, detail)


def _decode_record(kind: Any, data: Any, where: str, rules: Rules) -> Any:
    if not isinstance(data, dict):
        raise FactsError(f"{where}: expected an object, got {_kind_of(data)}")
    hints = _hints(kind)
    unknown = [key for key in data if key not in hints]
    if unknown and not rules.unknown_keys:
        raise FactsError(f"{where}: unknown fact {unknown[0]!r}")
    values = {name: decode_value(hints[name], data[name], f"{where}.{name}", rules) for name in hints if name in data}
    try:
        return kind(**values)
    except TypeError:
        lacking = [name for name in kind._fields if name not in kind._field_defaults and name not in values]
        raise FactsError(f"{where}: {', '.join(lacking)} missing") from None


def _decode_scalar(kind: Any, data: Any, where: str) -> Any:
    number = isinstance(data, (int, float)) and not isinstance(data, bool)
    if number and not -_LARGEST < data < _LARGEST:  # NaN too
        raise FactsError(f"{where}: {str(data)[:24]} is out of range")
    if kind is float and number:
        return float(data)
    if type(data) is kind and kind is not float:
        return data
    raise FactsError(f"{where}: expected {_NAMES.get(kind, kind.__name__)}, got {_kind_of(data)}")


#: No fact is larger; a number beyond it comes from a broken or hostile document.
_LARGEST = 1 << 63
_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _kind_of(data: Any) -> str:
    if data is None:
        return "null"
    if isinstance(data, dict):
        return "an object"
    return "a list" if isinstance(data, list) else _NAMES.get(type(data), type(data).__name__)


def decode_section(name: str, data: Any, rules: Rules = STRICT) -> Any:
    """Section ``name`` as its own type, or the Missing that ``data`` spells. Raises FactsError."""
    kind = section_type(name)
    if kind is None:
        raise FactsError(f"unknown section {name!r}")
    return decode_value(typing.Union[kind, Missing], data, name, rules)


def decode(data: Any, forgiving: bool = False) -> Facts:
    """A facts document as :class:`Facts`. Older documents load with not_collected for what they lack.

    Raises FactsError, one line, for anything foreign, newer or malformed; where ``forgiving``, a malformed fact becomes
    a missing one: for what this machine's own collectors just said.
    """
    if not isinstance(data, dict) or data.get("schema") != document.SCHEMA:
        raise FactsError(f'not a gonogo facts document ("schema" is not "{document.SCHEMA}")')
    version = data.get("schema_version")
    if type(version) is not int or version < 1:
        raise FactsError(f"schema_version {version!r} is no version of the facts schema")
    if version > document.SCHEMA_VERSION:
        raise FactsError(
            f"facts schema {version} is newer than this gonogo reads ({document.SCHEMA_VERSION}): upgrade gonogo"
        )
    encoded = data.get("sections")
    if not isinstance(encoded, dict):
        raise FactsError("no sections in the facts document")
    rules = Rules(unknown_keys=version < document.SCHEMA_VERSION, forgiving=forgiving)
    decoded = {
        name: decode_section(name, value, rules)
        for name, value in encoded.items()
        if not rules.unknown_keys or section_type(name) is not None
    }
    runs = decode_value(typing.Tuple[CollectorRun, ...], data.get("collectors", []), "collectors", rules)
    when, tool = data.get("collected_at", ""), data.get("tool_version", "")
    if not isinstance(when, str) or not isinstance(tool, str):
        raise FactsError("collected_at and tool_version must be text")
    return Facts(sections=decoded, collected_at=when, tool_version=tool, collectors=runs)
