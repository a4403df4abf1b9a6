"""The judged Python environment, read from its files; nothing of it is imported."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing
from gonogo.node.facts.sections.cuda import Library


class Distribution(NamedTuple):
    """One installed distribution; ``folder`` is the entry of sys.path that holds it."""

    name: str  # normalised: lower case, dashes
    version: str
    folder: str


class Torch(NamedTuple):
    """What torch/version.py and the names of torch's files say, without importing it."""

    folder: str
    version: str | Missing = UNCOLLECTED
    cuda: str | Missing = UNCOLLECTED  # not_found: a build without CUDA
    hip: str | Missing = UNCOLLECTED  # not_found: not a ROCm build
    machine: str | Missing = UNCOLLECTED  # of its extension modules: aarch64, x86_64


class Python(NamedTuple):
    """The interpreter that is judged. ``origin`` says how it was chosen.

    ``start`` is True when the interpreter ran and answered. Otherwise its reason and detail say how it failed
    (a signal, a time-out, an exit status), and the paths below come from the folder layout alone.
    """

    executable: str
    origin: str  # --python, VIRTUAL_ENV, CONDA_PREFIX, ./.venv, python3 on PATH
    start: bool | Missing = UNCOLLECTED
    noise: str = ""  # what it printed at start-up besides our answer, cut to one line
    version: str | Missing = UNCOLLECTED
    machine: str | Missing = UNCOLLECTED
    prefix: str | Missing = UNCOLLECTED
    base_prefix: str | Missing = UNCOLLECTED
    user_site: str | Missing = UNCOLLECTED  # not_found: disabled
    search_path: tuple[str, ...] | Missing = UNCOLLECTED
    distributions: tuple[Distribution, ...] | Missing = UNCOLLECTED
    torch: Torch | Missing = UNCOLLECTED
    cuda_libraries: tuple[Library, ...] | Missing = UNCOLLECTED  # libcudart files the environment brings
    constraint_file: str | Missing = UNCOLLECTED
    constraints: Mapping[str, str] | Missing = UNCOLLECTED  # name: pinned version
