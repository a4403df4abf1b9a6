"""One file a format: each has ``render(preflight, style)``, which returns the whole output as text."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

from gonogo.node.facts.missing import Missing, known
from gonogo.node.modules import submodules
from gonogo.preflight import Preflight
from gonogo.printable import printable


class Style(NamedTuple):
    """How to render: ``verbose`` adds evidence and timings, ``color`` is for terminals, ``width`` in columns."""

    verbose: bool = False
    color: bool = False
    width: int = 100


Renderer = Callable[[Preflight, Style], str]


def names() -> list[str]:
    """The names of all formats, as the command line takes them."""
    return [name.replace("_", "-") for name in submodules(__path__)]


def renderer(name: str) -> Renderer | None:
    """The renderer of a format, or None when there is no such format."""
    module_name = name.replace("-", "_")
    if not module_name.isidentifier() or module_name.startswith("_"):
        return None
    try:
        module = importlib.import_module(f"{__name__}.{module_name}")
    except ModuleNotFoundError:
        return None
    return module.render  # type: ignore[no-any-return]


def judged_environment(preflight: Preflight) -> str:
    """One line: which interpreter was judged, how it was chosen, and what torch it has."""
    python = preflight.facts.sections.get("python")
    if python is None or isinstance(python, Missing):
        return f"judged environment: none ({printable(str(python)) if python else 'not collected'})"
    torch = known(python.torch)
    parts = [f"Python {known(python.version) or 'that does not answer'}"]
    parts.append(f"torch {known(torch.version) or 'of unknown version'}" if torch else "no torch")
    return printable(f"judged environment: {python.executable} ({python.origin}), {', '.join(parts)}")
