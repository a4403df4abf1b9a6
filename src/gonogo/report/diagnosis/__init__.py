"""Formats of a diagnosis: each module has ``render(reading, style)``, which returns the whole output as text."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

from gonogo.diagnosis import Outcome
from gonogo.node.modules import submodules
from gonogo.report import Style


class Read(NamedTuple):
    """What was diagnosed: ``files`` as named by the user, ``problems`` one line each for what could not be read."""

    outcome: Outcome
    files: tuple[str, ...]
    bytes_read: int
    lines_read: int
    problems: tuple[str, ...] = ()
    interrupted: bool = False


Renderer = Callable[[Read, Style], str]


def names() -> list[str]:
    """The names of all formats."""
    return submodules(__path__)


def renderer(name: str) -> Renderer | None:
    """The renderer of a format, or None when there is no such format."""
    if not name.isidentifier() or name not in names():
        return None
    return importlib.import_module(f"{__name__}.{name}").render  # type: ignore[no-any-return]
