"""The catalogue read from its TOML files, and written as a module. Imports nothing of gonogo: the build runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from pprint import pformat
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read(package: Path | None = None) -> dict[str, Any]:
    """Every ``gotchas/*/gotcha.toml`` with the ``known.toml`` beside it, and ``platforms/*.toml`` below ``package`` (default: this one)."""
    package = package or Path(__file__).parent
    gotchas = {}
    for path in package.glob("gotchas/*/gotcha.toml"):
        entry = _toml(path)
        # Which parts a gotcha has is known here, so that start-up need not look for files.
        parts = sorted(part.stem for part in path.parent.glob("*.py") if part.stem != "__init__")
        dated = path.parent / "known.toml"
        known = {"known": _toml(dated)["row"]} if dated.exists() else {}
        gotchas[entry["id"]] = {**entry, **known, "package": path.parent.name, "parts": parts}
    platforms = {path.stem: _toml(path) for path in package.glob("platforms/*.toml")}
    ordered = dict(sorted(gotchas.items(), key=lambda item: int(item[0][1:])))
    return {"gotchas": ordered, "platforms": dict(sorted(platforms.items()))}


def _toml(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        data: dict[str, Any] = tomllib.load(file)
    return data


def write(package: Path | None = None) -> None:
    """Write ``_catalogue.py`` into ``package``: the same data as Python, which loads without parsing TOML."""
    package = package or Path(__file__).parent
    body = pformat(read(package), width=110, sort_dicts=False)
    text = f'"""Generated from the TOML files by catalogue_source.py; do not edit."""\n\nDATA = {body}\n'
    (package / "_catalogue.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
