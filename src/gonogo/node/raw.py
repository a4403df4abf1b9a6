"""A raw record: what the ports answered on one machine, redacted, for replaying its collectors elsewhere."""

from __future__ import annotations

from typing import Any

import gonogo
from gonogo.node.collection import Result
from gonogo.node.ports import recording
from gonogo.node.ports.host import Host

SCHEMA = "gonogo/raw"
SCHEMA_VERSION = 1


def document(results: list[Result]) -> dict[str, Any]:
    """The raw record of collectors that ran with ``record``; a collector that was lost left nothing."""
    answers = recording.merge([result.recording for result in results if result.recording is not None])
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "tool_version": gonogo.__version__,
        "recording": answers,
    }


def host_of(data: Any) -> Host:
    """The recorded machine as a host for the collectors. Raises ValueError, one line, for a malformed record."""
    version = data.get("schema_version")
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        raise ValueError(f"raw record schema {version!r} is not one this gonogo reads ({SCHEMA_VERSION})")
    try:
        return recording.replayed_host(data["recording"])
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"malformed raw record: {type(error).__name__}: {error}") from None
