"""A machine made of a few files below a folder, for collectors to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gonogo.node.facts.missing import Missing
from gonogo.node.ports.commands import Commands
from gonogo.node.ports.devices import Devices
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import Host


def host(root: Path, files: dict[str, str | bytes | None] | None = None, **changes: Any) -> Host:
    """A machine below ``root`` with these files; None makes a folder."""
    for path, content in (files or {}).items():
        target = root / path.lstrip("/")
        (target if content is None else target.parent).mkdir(parents=True, exist_ok=True)
        if content is not None:
            target.write_bytes(content.encode() if isinstance(content, str) else content)
    fields = {"files": Files(str(root)), "commands": Commands(), "devices": Devices(), "environment": {}, **changes}
    return Host(**fields)


def reason(fact: object) -> str:
    assert isinstance(fact, Missing)
    return fact.reason
