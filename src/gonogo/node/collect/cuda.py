"""CUDA libraries of the system: which libcudart the loader finds, which are registered, which toolkit is installed."""

from __future__ import annotations

import json
import re

from gonogo.node import loader
from gonogo.node.facts.missing import FAILED, Missing
from gonogo.node.facts.sections.cuda import Cuda, Library
from gonogo.node.ports.host import Host

TOOLKIT = "/usr/local/cuda/version.json"
_SONAME = re.compile(r"libcudart\.so\.(?:1[2-9]|[2-9][0-9]|11\.0)$")


def collect(host: Host) -> Cuda:
    """Sonames only (libcudart.so.13, libcudart.so.11.0): an unversioned libcudart.so is a link for compilers."""
    registered = loader.registered(host, "libcudart.so.")
    return Cuda(loadable=_loadable(host, registered), registered=_sonames(registered), toolkit_version=_toolkit(host))


def _sonames(libraries: tuple[Library, ...] | Missing) -> tuple[Library, ...] | Missing:
    if isinstance(libraries, Missing):
        return libraries
    return tuple(library for library in libraries if _SONAME.match(library.name))


def _loadable(host: Host, registered: tuple[Library, ...] | Missing) -> tuple[Library, ...]:
    in_path = [lib for folder in loader.library_path(host) for lib in _in_folder(host, folder, "LD_LIBRARY_PATH")]
    in_cache = () if isinstance(registered, Missing) else registered
    in_default = [lib for folder in loader.DEFAULT_FOLDERS for lib in _in_folder(host, folder, "default folder")]
    found: dict[str, Library] = {}
    for library in (*in_path, *in_cache, *in_default):
        if _SONAME.match(library.name):
            found.setdefault(library.name, library)
    return tuple(found.values())


def _in_folder(host: Host, folder: str, found_by: str) -> list[Library]:
    names = host.files.names(folder)
    return [] if isinstance(names, Missing) else [Library(name, f"{folder}/{name}", found_by) for name in names]


def _toolkit(host: Host) -> str | Missing:
    text = host.files.text(TOOLKIT)
    if isinstance(text, Missing):
        return text
    try:
        version = json.loads(text)["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Missing(FAILED, f"{TOOLKIT} is malformed")
    return version if isinstance(version, str) else Missing(FAILED, f"{TOOLKIT} is malformed")
