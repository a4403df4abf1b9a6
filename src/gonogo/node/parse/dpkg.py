"""dpkg's status file (/var/lib/dpkg/status): some packages of thousands, and how far their installation got."""

from __future__ import annotations

import re

#: What driver, kernel, firmware and container tools are called on DGX OS, Ubuntu and Debian.
PREFIXES = (
    *(b"nvidia-", b"libnvidia-", b"linux-image-", b"linux-modules-nvidia-", b"linux-nvidia", b"linux-firmware"),
    *(b"cuda-toolkit-", b"cuda-drivers", b"dgx-", b"fastos-", b"libcudnn"),
)
NAMES = (b"docker-ce", b"docker.io", b"containerd.io", b"podman", b"libnccl2", b"fwupd", b"nvtop", b"earlyoom")
#: dpkg(1): between these and "installed" an update is not at its end. Pending triggers are no such state.
UNFINISHED = ("half-installed", "unpacked", "half-configured")
_INSTALLED = ("installed", "triggers-awaited", "triggers-pending")

_START = b"\nPackage: "
_STATUS = re.compile(rb"^Status: \S+ (\S+) (\S+)", re.MULTILINE)
_VERSION = re.compile(rb"^Version: (\S+)", re.MULTILINE)
_WANTED = (*PREFIXES, *(name + b"\n" for name in NAMES))


def status(content: bytes) -> dict[str, dict[str, str]] | None:
    """``installed``: name to version; ``unfinished``: name to dpkg's state. Of the names above alone.

    None for a file that is none of dpkg's, or was cut: dpkg itself is always in it, and its last paragraph has an end.

    The file has 2 to 6 MB: its paragraphs are found by their first line, and only the wanted ones are read. Of a name
    that is there for several architectures the first counts.
    """
    if not content.endswith(b"\n") or (
        b"\nPackage: dpkg\n" not in content and not content.startswith(b"Package: dpkg\n")
    ):
        return None
    found: dict[str, dict[str, str]] = {"installed": {}, "unfinished": {}}
    start = len(_START) - 1 if content.startswith(_START[1:]) else _after(content, 0)
    while start > 0:
        if content.startswith(_WANTED, start):
            end = content.find(b"\n\n", start)
            _read(content[start:] if end < 0 else content[start : end + 1], found)
        start = _after(content, start)
    return found


def _after(content: bytes, position: int) -> int:
    """Where the next package's name begins; 0 after the last."""
    found = content.find(_START, position)
    return 0 if found < 0 else found + len(_START)


def _read(paragraph: bytes, found: dict[str, dict[str, str]]) -> None:
    name = paragraph.partition(b"\n")[0].decode("utf-8", "replace").strip()
    state, version = _STATUS.search(paragraph), _VERSION.search(paragraph)
    if state is None:
        return
    flag, word = (part.decode("ascii", "replace") for part in state.groups())
    if word in UNFINISHED or (flag == "reinstreq" and word in _INSTALLED):
        found["unfinished"].setdefault(name, word if word in UNFINISHED else flag)
    elif word in _INSTALLED and version is not None:
        found["installed"].setdefault(name, version.group(1).decode("utf-8", "replace"))
