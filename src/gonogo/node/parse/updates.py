"""What the vendor's update tools print: nvidia-spark-ota-check's summary and fwupdmgr's list of devices."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Release(NamedTuple):
    """The update (OTA) that a Spark's parts match best, the newest that its checker knows, and what differs."""

    installed: str
    newest: str
    differing_percent: float


def ota_summary(text: str) -> Release | None:
    """``nvidia-spark-ota-check summary`` as of version 1.0.16; None for anything else.

    The newest is the one with the latest date among those that are no early beta: the checker's own rule.
    """
    data = _object(text)
    scores = data.get("scores")
    installed, torn = data.get("detected_ota"), data.get("torn")
    if not isinstance(installed, str) or not isinstance(scores, list) or not isinstance(torn, (int, float)):
        return None
    if not 0 <= torn <= 100:
        return None
    dated = [
        (row["releaseDate"], row["ota"])
        for row in scores
        if isinstance(row, dict)
        and isinstance(row.get("ota"), str)
        and isinstance(row.get("releaseDate"), str)
        and "ebeta" not in row["ota"].lower()
    ]
    if not dated:
        return None
    return Release(installed[:40], max(dated)[1][:40], float(torn))


def ota_error(text: str) -> str:
    """The message of the checker's ``{"error": ...}``, or empty."""
    error = _object(text).get("error")
    return error if isinstance(error, str) else ""


def firmware(text: str) -> dict[str, str] | None:
    """``fwupdmgr get-devices --json``: name to version. A name that comes again gets a number. None: no such list."""
    devices = _object(text).get("Devices")
    if not isinstance(devices, list):
        return None
    found: dict[str, str] = {}
    for device in devices:
        name, version = (device.get("Name"), device.get("Version")) if isinstance(device, dict) else (None, None)
        if isinstance(name, str) and isinstance(version, str) and name and version:
            again = sum(1 for known in found if known == name or known.startswith(f"{name} ("))
            found[f"{name} ({again + 1})" if again else name] = version
    return found


def _object(text: str) -> dict[str, Any]:
    start = text.find("{")
    try:
        data = json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else {}
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
