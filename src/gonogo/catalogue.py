"""Gotchas and platforms as data: the generated module when it is there, else the TOML files themselves.

The build writes ``gonogo/_catalogue.py`` (hatch_build.py), which spares start-up the TOML parsing; a test compares
the two.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from gonogo.platforms.profile import Profile, profile_from


@cache
def data() -> Mapping[str, Any]:
    """``{"gotchas": {"G1": {...}}, "platforms": {"gb10": {...}}}``; a gotcha's ``package`` is its folder's name."""
    try:
        generated = importlib.import_module("gonogo._catalogue")
    except ModuleNotFoundError:
        from gonogo.catalogue_source import read

        return read()
    return generated.DATA  # type: ignore[no-any-return]


@cache
def signatures() -> Mapping[str, Any]:
    """Gotcha id to the rows of its signatures, see ``gonogo.logs.signatures``."""
    try:
        generated = importlib.import_module("gonogo._signatures")
    except ModuleNotFoundError:
        from gonogo.catalogue_source import read_signatures

        return read_signatures()
    return generated.DATA  # type: ignore[no-any-return]


def gotchas() -> Mapping[str, Mapping[str, Any]]:
    """Gotcha id to its entry, in the order of the numbers."""
    return data()["gotchas"]  # type: ignore[no-any-return]


@cache
def profiles() -> Mapping[str, Profile]:
    """Platform id to its profile."""
    return {key: profile_from(entry) for key, entry in data()["platforms"].items()}


def codes() -> set[str]:
    """Every finding code that the catalogue explains."""
    return {f"{gotcha}.{code}" for gotcha, entry in gotchas().items() for code in entry.get("code", {})}
