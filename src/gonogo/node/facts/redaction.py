"""Taking what is private out of facts and recordings before they are written or sent.

Names of users and of this host, home folders, addresses, unique ids and tokens are overwritten with as many x: the
length stays, so that paths still match each other and binary files (the loader cache) keep their offsets.
"""

from __future__ import annotations

import base64
import os
import re
from typing import Any, Iterable, Pattern

#: Names too common to be anybody's: overwriting them would only spoil paths and messages.
COMMON_NAMES = frozenset(
    [
        "root",
        "user",
        "users",
        "ubuntu",
        "debian",
        "nvidia",
        "admin",
        "runner",
        "docker",
        "podman",
        "spark",
        "dgx",
        "vm",
        "host",
        "localhost",
        "python",
        "conda",
        "torch",
        "cuda",
        "home",
        "work",
        "opt",
        "usr",
        "lib",
        "bin",
        "data",
        "local",
        "train",
        "test",
        "app",
    ]
)
#: Facts whose value is a version: four numbers with dots are no address there.
VERSION_KEYS = frozenset(
    {"version", "driver_version", "cuda_version", "toolkit_version", "constraints", "tool_version"}
)

_ALWAYS = [
    r"(?<=/home/)[^/\s:'\"\0]+",
    r"(?<=/Users/)[^/\s:'\"\0]+",
    r"(?<![A-Za-z0-9])(?:hf_|gh[pousr]_|github_pat_|sk-|nvapi-|xox[bap]-|glpat-|AKIA)[A-Za-z0-9_-]{12,}",
    r"(?<=[Bb]earer )[A-Za-z0-9._~+/-]{8,}",
    r"(?<=://)[^/@\s:]+:[^/@\s]+(?=@)",
    r"(?<![0-9A-Fa-f-])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Fa-f-])",
    r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])",
    r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])",
    r"(?<![0-9A-Fa-f:])(?:fe80:|(?:[0-9A-Fa-f]{1,4}:){3,7})(?::?[0-9A-Fa-f]{1,4}){1,5}(?![0-9A-Fa-f:.])",
]
_ADDRESS = r"(?<![-_.\w])(?<!==)(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![-_.\w])"


class Redactor:
    """Built from what is private on this machine; ``redact`` works on JSON-ready data."""

    def __init__(self, users: Iterable[str] = (), hosts: Iterable[str] = (), homes: Iterable[str] = ()) -> None:
        own: list[str] = []
        for home in homes:
            parent, _, name = home.rstrip("/").rpartition("/")
            if parent not in ("", "/home", "/Users") and name:
                own.append(f"(?<={re.escape(parent + '/')}){re.escape(name)}(?![A-Za-z0-9_])")
        for name in (*users, *hosts):
            if len(name) >= 3 and name.lower() not in COMMON_NAMES:
                own.append(f"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])")
        # Homes first: a name inside a path is then already gone.
        self._patterns: list[Pattern[str]] = [re.compile(pattern) for pattern in own + _ALWAYS]
        self._address = re.compile(_ADDRESS)

    def text(self, text: str, addresses: bool = True) -> str:
        """``text`` with everything private overwritten."""
        for pattern in self._patterns:
            text = pattern.sub(_mask, text)
        return self._address.sub(_mask_address, text) if addresses else text

    def redact(self, data: Any, key: str = "") -> Any:
        """A copy of JSON-ready ``data``: every string and every key."""
        if isinstance(data, str):
            return self.text(data, addresses=key not in VERSION_KEYS)
        if isinstance(data, list):
            return [self.redact(item, key) for item in data]
        if isinstance(data, dict):
            if set(data) == {"base64"}:
                return {"base64": self._binary(data["base64"])}
            inherited = key if key in VERSION_KEYS else ""
            return {
                self.text(name, addresses=False): self.redact(item, inherited or name) for name, item in data.items()
            }
        return data

    def _binary(self, encoded: str) -> str:
        content = base64.b64decode(encoded).decode("latin-1")
        return base64.b64encode(self.text(content, addresses=False).encode("latin-1")).decode("ascii")


def _mask(found: re.Match[str]) -> str:
    return re.sub(r"[^:/]", "x", found.group(0))


def _mask_address(found: re.Match[str]) -> str:
    text = found.group(0)
    public_knowledge = text.startswith(("127.", "0.")) or text == "255.255.255.255"
    valid = all(int(part) < 256 for part in text.split("."))
    return text if public_knowledge or not valid else re.sub(r"[0-9]", "x", text)


def redactor_for_this_machine() -> Redactor:
    """Knows this user, the user behind sudo, their homes and this host's name."""
    environment = os.environ
    users = {environment.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")} - {""}
    homes = {environment.get("HOME", "")} - {"", "/root", "/"}
    hosts = set()
    if hasattr(os, "uname"):
        node = os.uname().nodename
        hosts = {node, node.partition(".")[0]}
    return Redactor(users | {home.rstrip("/").rpartition("/")[2] for home in homes}, hosts, homes)
