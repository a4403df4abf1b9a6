"""Storage: how much room the filesystems have where models, images, checkpoints and shared memory go."""

from __future__ import annotations

import os
import re
from typing import Iterator, Mapping

from gonogo.node import caller
from gonogo.node.collect import engine
from gonogo.node.facts.missing import NOT_FOUND, Missing
from gonogo.node.facts.sections.storage import Place, Storage
from gonogo.node.ports.host import Host

SHARED_MEMORY = "/dev/shm"
_VARIABLE = re.compile(r"\$([A-Za-z0-9_]+|\{[^}]*\})")


def collect(host: Host) -> Storage:
    """statvfs(2) of each place, for the calling user."""
    who = caller.of(host)
    user = who.user_and_group[0] if who.user_and_group else host.user
    return Storage(tuple(_places(host, who.environment, user)))


def _places(host: Host, environment: Mapping[str, str], user: int) -> Iterator[Place]:
    models = models_folder(environment, host.folder)
    if isinstance(models, Place):
        yield models
    else:
        nearest = _nearest(host, models)
        yield _place(host, "models", nearest) if nearest else _unknown(models, "the path goes through a file")
    images = _images_folder(host, environment, user)
    if images:
        yield _place(host, "images", images)
    if host.folder:
        yield _place(host, "folder", host.folder)
    if host.system == "Linux":
        yield _place(host, "shared-memory", SHARED_MEMORY)


def _place(host: Host, purpose: str, path: str) -> Place:
    space = host.files.space(path)
    if isinstance(space, Missing):
        return Place(purpose, path, space, space, space, space, space, host.files.writable(path))
    return Place(purpose, path, *space, writable=host.files.writable(path))


def _nearest(host: Host, path: str) -> str:
    """The folder itself or the nearest above it that exists; empty where a file or device is in the way.

    One that may not be looked at stays as it is.
    """
    while path not in ("", "/"):
        kind = host.files.kind(path)
        if kind in ("file", "other"):
            return ""
        if kind == "folder" or (isinstance(kind, Missing) and kind.reason != NOT_FOUND):
            return path
        path = os.path.dirname(path.rstrip("/"))
    return "/"


# -- models -----------------------------------------------------------------------------------------------------------


def models_folder(environment: Mapping[str, str], folder: str) -> str | Place:
    """Where huggingface_hub keeps what it downloads, by its own rules (constants.py); a Place where that is unknown.

    Each variable counts when it is set, even to nothing; "~" and $NAME are expanded, a relative path begins in the
    working folder.
    """
    home = environment.get("HF_HOME")
    if home is None:
        home = os.path.join(environment.get("XDG_CACHE_HOME", "~/.cache"), "huggingface")
    wanted = environment.get("HF_HUB_CACHE")
    if wanted is None:
        wanted = environment.get("HUGGINGFACE_HUB_CACHE")
    if wanted is None:
        wanted = os.path.join(home, "hub")
    path = _expanded(wanted, environment)
    if path is not None and not path.startswith("/"):
        path = os.path.join(folder, path) if folder else None
    if path is None:
        return _unknown(wanted, "HOME or the working folder is not known")
    return path


def _unknown(path: str, why: str) -> Place:
    unknown = Missing(NOT_FOUND, why)
    return Place("models", path, unknown, unknown, unknown, unknown, unknown, unknown)


def _expanded(path: str, environment: Mapping[str, str]) -> str | None:
    """As os.path.expanduser and expandvars do it; another user's home (~name) is not looked up."""
    if path.startswith("~"):
        home = environment.get("HOME")
        if not home or path[1:2] not in ("", "/"):
            return None
        path = home.rstrip("/") + path[1:] or "/"
    return _VARIABLE.sub(lambda found: environment.get(found.group(1).strip("{}"), found.group(0)), path)


# -- images -----------------------------------------------------------------------------------------------------------


def _images_folder(host: Host, environment: Mapping[str, str], user: int) -> str:
    """Docker's folder, else containerd's, else podman's; empty where none exists."""
    docker = engine.image_folder(host, environment, engine.daemon_settings(host, environment))
    home = environment.get("HOME", "").rstrip("/")
    podman = "/var/lib/containers/storage" if user == 0 or not home else f"{home}/.local/share/containers/storage"
    for path in (docker, "/var/lib/containerd", podman):
        if host.files.kind(path) == "folder":
            return path
    return ""
