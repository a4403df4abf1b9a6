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
    [
        *("version", "driver_version", "cuda_version", "toolkit_version", "constraints", "tool_version", "packages"),
        *("firmware", "kernel_module_version", "libcuda_version", "CUDA_VERSION", "CUDA_DRIVER_VERSION"),
    ]
)

_ALWAYS = [
    r"(?<=/home/)[^/\s:'\"\0]+",
    r"(?<=/Users/)[^/\s:'\"\0]+",
    r"(?<![A-Za-z0-9])(?:hf_|gh[pousr]_|github_pat_|sk-|nvapi-|xox[bap]-|glpat-|AKIA)[A-Za-z0-9_-]{12,}",
    r"(?<=[Bb]earer )[A-Za-z0-9._~+/-]{8,}",
    r"(?<=://)[^/@\s:]+:[^/@\s]+(?=@)",
    r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Fa-f])",
    r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])",
    r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])",
    r"(?<![A-Za-z0-9._%+:/-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}(?![A-Za-z0-9])",
    r"(?<=[Cc]:\\Users\\)[^\\\s:'\"\0]+",
    r"(?<=enx)[0-9a-f]{12}(?![0-9a-f])",  # names of network cards that hold their address
    r"(?<=wlx)[0-9a-f]{12}(?![0-9a-f])",
]
#: The value of a setting whose name says that it is secret.
_SECRET = r"(?i)(?<![a-z])([a-z_-]*(?:password|passwd|secret|token|api_?key|access_?key)[a-z_-]*[=:] ?)([^\s'\"\0]{4,})"
#: Four numbers with dots, unless they are the version in a name (nvidia_cublas-13.1.0.3.dist-info) or in a pin.
_IPV4 = r"(?<![\w.])(?<!==)(?<!== )(?<![A-Za-z_]-)(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!\w|[-_.][A-Za-z]|\.[0-9])"
_IPV6 = r"(?<![\w:.])(?:[0-9A-Fa-f]{1,4}:){1,7}:?(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?(?![\w:])"


class Redactor:
    """Built from what is private on this machine; ``redact`` works on JSON-ready data."""

    def __init__(self, users: Iterable[str] = (), hosts: Iterable[str] = (), homes: Iterable[str] = ()) -> None:
        own: list[str] = []
        for home in homes:
            parent, _, name = home.rstrip("/").rpartition("/")
            if parent not in ("", "/home", "/Users") and name:
                own.append(f"(?<={re.escape(parent + '/')}){re.escape(name)}(?![A-Za-z0-9])")
        for name in sorted({*users, *hosts}, key=len, reverse=True):  # the whole before its part
            if len(name) >= 3 and name.lower() not in COMMON_NAMES:
                own.append(f"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")
        # Homes first: a name inside a path is then already gone.
        self._patterns: list[Pattern[str]] = [re.compile(pattern) for pattern in own + _ALWAYS]
        self._secret = re.compile(_SECRET)
        self._addresses = [re.compile(_IPV4), re.compile(_IPV6)]

    def text(self, text: str, addresses: bool = True) -> str:
        """``text`` with everything private overwritten."""
        for pattern in self._patterns:
            text = pattern.sub(_mask, text)
        text = self._secret.sub(lambda found: found.group(1) + re.sub(r"[^:/]", "x", found.group(2)), text)
        for pattern in self._addresses if addresses else ():
            text = pattern.sub(_mask_address, text)
        return text

    def redact(self, data: Any, key: str = "") -> Any:
        """A copy of JSON-ready ``data``: every string and every key."""
        if isinstance(data, str):
            return self.text(data, addresses=key not in VERSION_KEYS)
        if isinstance(data, list):
            return [self.redact(item, key) for item in data]
        if isinstance(data, dict):
            if set(data) == {"base64"} and key not in VERSION_KEYS:
                return {"base64": self._binary(data["base64"])}
            inherited = key if key in VERSION_KEYS else ""
            return {
                self.text(name, addresses=False): self.redact(item, inherited or name) for name, item in data.items()
            }
        return data

    def _binary(self, encoded: Any) -> Any:
        try:
            content = base64.b64decode(encoded, validate=True).decode("latin-1")
        except (ValueError, TypeError):
            return self.redact(encoded)
        return base64.b64encode(self.text(content, addresses=False).encode("latin-1")).decode("ascii")


def _mask(found: re.Match[str]) -> str:
    return re.sub(r"[^:/]", "x", found.group(0))


def _mask_address(found: re.Match[str]) -> str:
    import ipaddress  # only where something looks like an address

    text = found.group(0)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    everybodys = address.is_loopback or address.is_unspecified or text == "255.255.255.255"
    return text if everybodys else re.sub(r"[0-9A-Fa-f]", "x", text)


def redactor_for_this_machine() -> Redactor:
    """Knows this user, the user behind sudo, their homes and this host's name."""
    environment = os.environ
    users = {environment.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")} - {""}
    try:
        import pwd  # in a job without HOME and USER the password file still knows

        entry = pwd.getpwuid(os.getuid())
        users.add(entry.pw_name)
        own_home = entry.pw_dir
    except (ImportError, KeyError):
        own_home = ""
    homes = {environment.get("HOME", ""), own_home} - {"", "/root", "/"}
    hosts = set()
    if hasattr(os, "uname"):
        node = os.uname().nodename
        hosts = {node, node.partition(".")[0]}
    return Redactor(users | {home.rstrip("/").rpartition("/")[2] for home in homes}, hosts, homes)
