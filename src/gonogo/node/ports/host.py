"""The machine as a collector sees it: the three ports, the environment and the user."""

from __future__ import annotations

import os
import sys
from typing import Mapping, NamedTuple

from gonogo.node.ports.commands import Commands
from gonogo.node.ports.devices import Devices
from gonogo.node.ports.files import Files


class Host(NamedTuple):
    """Everything that a collector may touch. ``own_prefix`` is the environment that gonogo itself runs in."""

    files: Files
    commands: Commands
    devices: Devices
    environment: Mapping[str, str]
    system: str = ""
    machine: str = ""
    kernel_release: str = ""
    folder: str = ""  # the working folder
    own_prefix: str = ""
    own_checkout: str = ""  # the source checkout that gonogo runs from, if it does
    requested_python: str = ""  # what --python named
    parent: int = 0  # pid
    user: int = 0  # effective user id
    thorough: bool = False  # the user allowed what is slow or may ask the network


def live_host(requested_python: str = "", thorough: bool = False) -> Host:
    """This machine. Works on every operating system; what Linux alone has is simply not found elsewhere."""
    uname: tuple[str, str, str] = ("Windows", "", "")
    if hasattr(os, "uname"):
        real = os.uname()
        uname = (real.sysname, real.machine, real.release)
    try:
        folder = os.getcwd()
    except OSError:  # the working folder was deleted
        folder = ""
    return Host(
        files=Files(),
        commands=Commands(),
        devices=Devices(),
        environment=os.environ,
        system=uname[0],
        machine=uname[1],
        kernel_release=uname[2],
        folder=folder,
        own_prefix=sys.prefix,
        own_checkout=_own_checkout() or "",
        requested_python=requested_python,
        parent=os.getppid(),
        user=os.geteuid() if hasattr(os, "geteuid") else -1,
        thorough=thorough,
    )


def _own_checkout() -> str | None:
    # src/gonogo/node/ports/host.py: four folders up lies src/, beside it pyproject.toml when this is a checkout.
    folder = os.path.abspath(__file__)
    for _ in range(5):
        folder = os.path.dirname(folder)
    return folder if os.path.isfile(os.path.join(folder, "pyproject.toml")) else None
