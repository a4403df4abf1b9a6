"""What container engines are configured with: docker's daemon.json, CDI specifications, a docker that is podman."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

#: Runtimes that docker brings itself.
_BUILT_IN = ("runc", "native")
_CDI_KIND = re.compile(rb"(?m)(?:^kind|\"kind\")[ \t]*:\s*[\"']?nvidia\.com/gpu[\"']?(?=[\s,}]|$)")


class DaemonSettings(NamedTuple):
    """Of daemon.json. Empty: not set there."""

    data_root: str = ""
    runtimes: tuple[str, ...] = ()  # besides docker's own
    default_runtime: str = ""
    cdi_folders: tuple[str, ...] = ()


def daemon_settings(content: bytes) -> list[Any] | None:
    """The fields of DaemonSettings as plain data, or None where this is no daemon.json; an empty one sets nothing.

    Nothing else of the file is kept: it may hold the passwords of proxies and log services. A setting of another type
    than docker's counts as not set.
    """
    try:
        data = json.loads(content) if content.strip() else {}
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    runtimes, folders = data.get("runtimes"), data.get("cdi-spec-dirs")
    return [
        _text(data.get("data-root")) or _text(data.get("graph")),  # its name until docker 17.05
        [name for name in runtimes if not _built_in(name)] if isinstance(runtimes, dict) else [],
        _text(data.get("default-runtime")),
        [folder for folder in folders if _text(folder)] if isinstance(folders, list) else [],
    ]


def _built_in(name: str) -> bool:
    return name in _BUILT_IN or name.startswith("io.containerd.")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def names_nvidia_gpu(content: bytes) -> bool:
    """Whether a CDI specification, YAML or JSON, is of the kind nvidia.com/gpu.

    nvidia-ctk writes the keys in alphabetical order, so that the kind stands at the end of the file.
    """
    return _CDI_KIND.search(content) is not None


def is_podman_script(content: bytes) -> bool:
    """Whether /usr/bin/docker is the script of the package podman-docker."""
    return content.startswith(b"#!") and b"podman" in content
