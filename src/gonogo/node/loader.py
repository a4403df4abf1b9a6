"""Where the dynamic loader finds a library, by its rules and without loading it (ld.so(8)).

LD_LIBRARY_PATH first, then the loader cache, then the default folders. RPATHs belong to a binary and are not here.
"""

from __future__ import annotations

from gonogo.node import caller
from gonogo.node.facts.missing import NOT_FOUND, Missing
from gonogo.node.facts.sections.cuda import Library
from gonogo.node.facts.sections.identity import canonical_machine
from gonogo.node.parse import loader_cache
from gonogo.node.ports.host import Host

CACHE = "/etc/ld.so.cache"
DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


def registered(host: Host, prefix: str) -> tuple[Library, ...] | Missing:
    """Every library of the cache for this machine's programs whose soname begins with ``prefix`` and that exists."""
    content = host.files.read(CACHE)
    if isinstance(content, Missing):
        return content
    machine = canonical_machine(host.machine)
    return tuple(
        Library(entry.name, entry.path, "loader cache")
        for entry in loader_cache.entries(content, prefix)
        if entry.machine == machine and host.files.exists(entry.path)
    )


def find(host: Host, name: str) -> Library | Missing:
    """The file that a program without an RPATH would get for ``name``."""
    for folder in library_path(host):
        path = f"{folder}/{name}"
        if host.files.exists(path):
            return Library(name, path, "LD_LIBRARY_PATH")
    cached = registered(host, name)
    for library in () if isinstance(cached, Missing) else cached:
        if library.name == name:
            return library
    for folder in DEFAULT_FOLDERS:
        path = f"{folder}/{name}"
        if host.files.exists(path):
            return Library(name, path, "default folder")
    return Missing(NOT_FOUND, f"{name} is in no folder that the loader searches")


def library_path(host: Host) -> list[str]:
    """The absolute folders of the caller's LD_LIBRARY_PATH."""
    paths = caller.of(host).environment.get("LD_LIBRARY_PATH", "")
    return [folder.rstrip("/") for folder in paths.split(":") if folder[:1] == "/"]
