"""Build hook: writes the catalogue as a Python module, so that start-up parses no TOML."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from pprint import pformat
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path(__file__).parent / "src" / "gonogo"


class CatalogueHook(BuildHookInterface):
    """Runs for wheels and for editable installations alike."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        write()


def write() -> None:
    """Write ``gonogo/_catalogue.py`` from the TOML files below the package."""
    spec = importlib.util.spec_from_file_location("catalogue_source", PACKAGE / "catalogue_source.py")
    assert spec is not None and spec.loader is not None
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    body = pformat(source.read(PACKAGE), width=110, sort_dicts=False)
    text = f'"""Generated from the TOML files by hatch_build.py; do not edit."""\n\nDATA = {body}\n'
    (PACKAGE / "_catalogue.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
