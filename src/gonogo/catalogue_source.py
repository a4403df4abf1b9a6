"""The catalogue read from its TOML files, and written as a module. Imports nothing of gonogo: the build runs it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from pprint import pformat
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read(package: Path | None = None) -> dict[str, Any]:
    """Every ``gotchas/*/gotcha.toml`` with the ``known.toml`` beside it, and every ``platforms/*.toml``.

    Below ``package``; default: this one.
    """
    package = package or Path(__file__).parent
    gotchas = {}
    for path in package.glob("gotchas/*/gotcha.toml"):
        entry = _toml(path)
        # Which parts a gotcha has is known here, so that start-up need not look for files.
        parts = sorted(part.stem for part in path.parent.glob("*.py") if part.stem != "__init__")
        parts += ["signatures"] if (path.parent / "signatures.toml").exists() else []
        dated = path.parent / "known.toml"
        known = {"known": _toml(dated)["row"]} if dated.exists() else {}
        gotchas[entry["id"]] = {**entry, **known, "package": path.parent.name, "parts": parts}
    platforms = {path.stem: _toml(path) for path in package.glob("platforms/*.toml")}
    ordered = dict(sorted(gotchas.items(), key=lambda item: int(item[0][1:])))
    return {"gotchas": ordered, "platforms": dict(sorted(platforms.items()))}


def read_signatures(package: Path | None = None) -> dict[str, Any]:
    """Gotcha id to the rows of its ``signatures.toml``, each pattern with the literals that the fast scan looks for."""
    package = package or Path(__file__).parent
    required = _required(package)
    found = {}
    for path in package.glob("gotchas/*/signatures.toml"):
        rows = _toml(path)["signature"]
        for row in rows:
            for part in (row, *row.get("needs", ()), *row.get("unless", ())):
                part.setdefault("literals", list(required(part["pattern"])))
        found[_toml(path.parent / "gotcha.toml")["id"]] = rows
    return dict(sorted(found.items(), key=lambda item: int(item[0][1:])))


def _required(package: Path) -> Callable[[str], tuple[str, ...]]:
    # By its path: while the package is built it cannot be imported.
    spec = importlib.util.spec_from_file_location("literals", package / "logs" / "literals.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.required  # type: ignore[no-any-return]


def _toml(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        data: dict[str, Any] = tomllib.load(file)
    return data


def write(package: Path | None = None) -> None:
    """Write ``_catalogue.py`` and ``_signatures.py`` into ``package``: the same data as Python, which loads without
    parsing TOML. Two files, since a preflight needs no signatures.
    """
    package = package or Path(__file__).parent
    for name, data in (("_catalogue", read(package)), ("_signatures", read_signatures(package))):
        body = pformat(data, width=110, sort_dicts=False)
        head = '"""Generated from the TOML files by catalogue_source.py; do not edit."""\n\nfrom typing import Any\n\n'
        text = f"{head}DATA: dict[str, Any] = {body}\n"
        (package / f"{name}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
