"""CUDA libraries that the system offers to every program, and installed toolkits."""

from __future__ import annotations

from typing import NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Library(NamedTuple):
    """``name`` is the soname asked for (libcudart.so.13), ``found_by`` the search path that leads to ``path``."""

    name: str
    path: str
    found_by: str


class Cuda(NamedTuple):
    """``loadable`` lists each libcudart that the dynamic loader finds now, first hit per name.

    ``registered`` lists every libcudart in the loader cache whose file exists, loadable by this machine's programs.
    ``toolkit_version`` is the one that /usr/local/cuda names.
    """

    loadable: tuple[Library, ...] | Missing = UNCOLLECTED
    registered: tuple[Library, ...] | Missing = UNCOLLECTED
    toolkit_version: str | Missing = UNCOLLECTED
