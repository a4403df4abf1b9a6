"""Measurements that the user took and kept: ``gonogo/bandwidth.json`` in their state folder (XDG_STATE_HOME)."""

from __future__ import annotations

from typing import Any

from gonogo.node import caller
from gonogo.node.facts.missing import FAILED, NOT_FOUND, UNCOLLECTED, Missing
from gonogo.node.facts.sections.measurements import Bandwidth, Measurements
from gonogo.node.ports.host import Host

SCHEMA, SCHEMA_VERSION = "gonogo/bandwidth", 1
KINDS = ("copy", "read")
#: Kept runs beyond this many are not looked at: the last of each kind counts.
LIMIT_RUNS = 200


def folder(environment: Any) -> str | None:
    """The user's state folder for gonogo; None where no home is known."""
    state = environment.get("XDG_STATE_HOME", "")
    if state.startswith("/"):
        return f"{state.rstrip('/')}/gonogo"
    home = environment.get("HOME", "")
    return f"{home.rstrip('/')}/.local/state/gonogo" if home.startswith("/") else None


def collect(host: Host) -> Measurements | Missing:
    """Missing(not_found) where nothing was measured yet."""
    place = folder(caller.of(host).environment)
    if place is None:
        return Missing(NOT_FOUND, "no home folder is known")
    text = host.files.text(f"{place}/bandwidth.json")
    if isinstance(text, Missing):
        return text
    import json  # only where something was measured

    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA or data["schema_version"] != SCHEMA_VERSION:
            return Missing(FAILED, "bandwidth.json is not of this version")
        runs = [_run(row) for row in data["runs"][-LIMIT_RUNS:]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Missing(FAILED, f"bandwidth.json cannot be read: {type(error).__name__}")
    last = {run.kind: run for run in runs if run.kind in KINDS}
    return Measurements(bandwidth=tuple(last[kind] for kind in KINDS if kind in last))


def _run(row: Any) -> Bandwidth:
    def optional(name: str, kind: type | tuple[type, ...]) -> Any:
        value = row.get(name)
        return value if isinstance(value, kind) else UNCOLLECTED

    return Bandwidth(
        kind=str(row["kind"]),
        median_gb_per_s=float(row["median_gb_per_s"]),
        measured_at=str(row["measured_at"]),
        device=str(row["device"]),
        driver_version=optional("driver_version", str),
        spread_percent=optional("spread_percent", (int, float)),
        bytes_moved=optional("bytes_moved", int),
        idle=optional("idle", bool),
    )
