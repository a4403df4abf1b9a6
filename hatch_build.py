"""Build hook: writes the catalogue as a Python module, so that start-up parses no TOML."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path(__file__).parent / "src" / "gonogo"


class CatalogueHook(BuildHookInterface):
    """Runs for wheels and for editable installations alike."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        spec = importlib.util.spec_from_file_location("catalogue_source", PACKAGE / "catalogue_source.py")
        assert spec is not None and spec.loader is not None
        source = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(source)
        source.write(PACKAGE)
