"""Who asks: under sudo the user who called it, with the environment that sudo took away."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from types import MappingProxyType
from typing import Mapping, NamedTuple

from gonogo.node import launch_variables
from gonogo.node.facts.missing import Missing
from gonogo.node.ports.host import Host

#: Taken from sudo's own environment even where the current one has them: sudo sets its own.
_REPLACED = ("PATH", "HOME", "USER", "LOGNAME")
#: Taken from there where sudo dropped them.
_DROPPED = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH", "PIP_CONSTRAINT"),
    *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"),
)


class Caller(NamedTuple):
    """``environment`` is to be looked things up in, by name. ``changes`` is what a program that runs for this user
    gets over our own environment, ``user_and_group`` the ids that it runs as; None: our own.
    """

    environment: Mapping[str, str]
    changes: Mapping[str, str] = MappingProxyType({})
    user_and_group: tuple[int, int] | None = None


def of(host: Host) -> Caller:
    """The caller. sudo replaces PATH and drops VIRTUAL_ENV, but its own process still has them."""
    own = host.environment
    ids = [own.get(name, "") for name in ("SUDO_UID", "SUDO_GID")]
    if host.user != 0 or not all(re.match(r"[0-9]{1,10}$", text, re.ASCII) for text in ids):
        return Caller(own)
    user, group = int(ids[0]), int(ids[1])
    taken = _sudo_environment(host)
    changes = {name: value for name, value in taken.items() if name in _REPLACED or not own.get(name)}
    return Caller(ChainMap(changes, own), changes, None if user == 0 else (user, group))  # type: ignore[arg-type]


def wanted(environ: bytes) -> dict[str, str]:
    """The variables of a /proc/PID/environ that collectors look at; the rest is nobody's business."""
    pairs = (entry.partition("=") for entry in os.fsdecode(environ).split("\0"))
    found = {}
    for name, equals, value in pairs:
        if equals and (name in _REPLACED or name in _DROPPED):
            found[name] = value
        elif equals and launch_variables.relevant(name):
            found[name] = launch_variables.kept(name, value)
    return found


def _sudo_environment(host: Host) -> dict[str, str]:
    pid = host.parent
    for _ in range(10):
        if pid <= 1:
            break
        if host.files.text(f"/proc/{pid}/comm") == "sudo\n":
            taken = host.files.reduced(f"/proc/{pid}/environ", wanted)
            if not isinstance(taken, Missing):
                return taken  # type: ignore[no-any-return]
        status = host.files.text(f"/proc/{pid}/status")
        parent = None if isinstance(status, Missing) else re.search(r"^PPid:\s+([0-9]+)$", status, re.MULTILINE)
        if parent is None:
            break
        pid = int(parent.group(1))
    return {}
