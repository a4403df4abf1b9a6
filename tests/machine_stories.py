"""Machine stories: ``machines/<story>/`` holds a machine as facts, and what must and must not be found on it.

- ``story.toml``: ``about`` (one line), ``source`` (where each real figure is from), ``chosen`` (figures that nobody
  published, and why these), ``base`` (the story whose facts are patched), ``[request]`` with ``platform`` and ``need``.
- ``facts.json``: a document as ``gonogo record`` writes it; or ``patch.json``: an RFC 7396 merge patch on the base's;
  or ``raw.json``: what ``gonogo record --raw`` wrote, through which the collectors themselves run.
- ``expected.toml``: ``verdict``, ``platform``, ``[[must]]`` (a code or a gotcha, status, optional ``message``),
  ``[[must_not]]`` (``code`` or ``gotcha`` or neither for any; nothing at or above ``min_status``, or nothing at all),
  and optionally ``platform_evidence``, ``identity``, ``reasons``, ``headroom_gb`` and ``[plain]``: statuses by line.

Texts to match are regular expressions, searched for. A ``status`` may be a list where the documents leave a choice.
Expectations come from published reports and the contract, never from what the code happens to say.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from gonogo.finding import STATUSES, Finding
from gonogo.node import collect, collection, raw
from gonogo.plan import Plan
from gonogo.preflight import Request
from gonogo.units import parse_size

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MACHINES = Path(__file__).parent / "machines"

STORY_KEYS = {"about", "base", "source", "chosen", "request"}
REQUEST_KEYS = {"platform", "need"}
EXPECTED_KEYS = {
    *("verdict", "platform", "must", "must_not", "plain"),
    *("platform_evidence", "identity", "reasons", "headroom_gb"),
}
MUST_KEYS, MUST_NOT_KEYS = {"code", "status", "message"}, {"code", "gotcha", "min_status"}


class Must(NamedTuple):
    """A finding that has to be there; ``code`` may be a whole gotcha, ``message`` is a regular expression."""

    code: str
    statuses: tuple[str, ...]
    message: str = ""

    def met_by(self, item: Finding) -> bool:
        """Whether this is the finding."""
        named = self.code in (item.code, item.gotcha)
        return named and item.status in self.statuses and bool(re.search(self.message, item.message))


class MustNot(NamedTuple):
    """Findings that may not be there: those of ``prefix`` (a code, a gotcha, "" for all) at or above ``min_status``."""

    prefix: str
    min_status: str

    def covers(self, code: str) -> bool:
        """Whether a finding with this code is meant."""
        return self.prefix in ("", code) or code.startswith(self.prefix + ".")


class Expected(NamedTuple):
    """What ``expected.toml`` says."""

    verdict: str
    platform: str
    must: tuple[Must, ...]
    must_not: tuple[MustNot, ...]
    plain: dict[str, str]
    platform_evidence: tuple[str, ...] = ()
    identity: str | None = None
    reasons: tuple[str, ...] = ()
    headroom_gb: float | None = None


class Story(NamedTuple):
    """One machine. ``document`` is the whole facts document, patches applied; it is to be copied before a change."""

    name: str
    about: str
    source: tuple[str, ...]
    chosen: tuple[str, ...]
    request: Request
    document: dict[str, Any]
    expected: Expected

    @property
    def healthy(self) -> bool:
        """The story forbids every warning."""
        return any(entry.prefix == "" and entry.min_status == "WARN" for entry in self.expected.must_not)

    @property
    def sections(self) -> dict[str, Any]:
        """The document's sections."""
        sections: dict[str, Any] = self.document["sections"]
        return sections

    def devices(self) -> list[dict[str, Any]]:
        """The GPUs of the document; none where the section, or its list, is missing."""
        return devices_of(self.document)


def devices_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The GPUs of a facts document, to read or to change."""
    listed = document["sections"].get("gpu", {}).get("devices", [])
    return listed if isinstance(listed, list) else []


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396: objects merge by member, null removes a member, anything else replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def names() -> list[str]:
    """The names of all stories."""
    return sorted(path.name for path in MACHINES.iterdir() if path.is_dir())


def load_all() -> list[Story]:
    """Every story, in order of name. Raises ValueError for one that is not written as the module says."""
    return [_load(name) for name in names()]


def _load(name: str) -> Story:
    folder = MACHINES / name
    story, expected = _toml(folder / "story.toml", STORY_KEYS), _toml(folder / "expected.toml", EXPECTED_KEYS)
    request = story.get("request", {})
    _known(request, REQUEST_KEYS, f"{name}/story.toml [request]")
    if "\n" in story["about"]:
        raise ValueError(f"{name}: about is one line")
    plan = Plan(parse_size(request["need"]) if "need" in request else None)
    return Story(
        name=name,
        about=story["about"],
        source=tuple(story.get("source", ())),
        chosen=tuple(story.get("chosen", ())),
        request=Request(request.get("platform"), plan),
        document=_document(name, ()),
        expected=_expected(expected, name),
    )


def _document(name: str, seen: tuple[str, ...]) -> dict[str, Any]:
    if name in seen:
        raise ValueError(f"{' -> '.join((*seen, name))}: a story cannot be its own base")
    folder = MACHINES / name
    whole, patch, raw_record = folder / "facts.json", folder / "patch.json", folder / "raw.json"
    base = _toml(folder / "story.toml", STORY_KEYS).get("base")
    if sum(path.exists() for path in (whole, patch, raw_record)) != 1 or patch.exists() != (base is not None):
        raise ValueError(f"{name}: facts.json, or raw.json, or patch.json and a base")
    if raw_record.exists():
        host = raw.host_of(json.loads(raw_record.read_text(encoding="utf-8")))
        names_ = [name for name in collect.names() if name not in collect.ON_REQUEST]
        replayed = collection.document([collection.run_one(name, host) for name in names_])
        return {**replayed, "collected_at": "2026-11-30T20:52:00Z"}
    if whole.exists():
        document: dict[str, Any] = json.loads(whole.read_text(encoding="utf-8"))
        return document
    patched: dict[str, Any] = merge_patch(
        _document(str(base), (*seen, name)), json.loads(patch.read_text(encoding="utf-8"))
    )
    return patched


def _expected(data: dict[str, Any], name: str) -> Expected:
    for key, keys in (("must", MUST_KEYS), ("must_not", MUST_NOT_KEYS)):
        for entry in data.get(key, ()):
            _known(entry, keys, f"{name}/expected.toml [[{key}]]")
    return Expected(
        verdict=data["verdict"],
        platform=data["platform"],
        must=tuple(
            Must(entry["code"], _statuses(entry["status"], name), entry.get("message", "")) for entry in data["must"]
        ),
        must_not=tuple(
            MustNot(entry.get("code", entry.get("gotcha", "")), *_statuses(entry.get("min_status", "PASS"), name))
            for entry in data["must_not"]
        ),
        plain=dict(data.get("plain", {})),
        platform_evidence=tuple(data.get("platform_evidence", ())),
        identity=data.get("identity"),
        reasons=tuple(data.get("reasons", ())),
        headroom_gb=data.get("headroom_gb"),
    )


def _statuses(given: str | list[str], name: str) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given)
    unknown = [status for status in found if status not in STATUSES]
    if unknown:
        raise ValueError(f"{name}/expected.toml: no such status: {', '.join(unknown)}")
    return found


def _toml(path: Path, keys: set[str]) -> dict[str, Any]:
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    _known(data, keys, f"{path.parent.name}/{path.name}")
    return data


def _known(data: dict[str, Any], keys: set[str], where: str) -> None:
    # A misspelt key would quietly test nothing.
    if set(data) - keys:
        raise ValueError(f"{where}: unknown {', '.join(sorted(set(data) - keys))}")
