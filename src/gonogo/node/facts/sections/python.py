"""The judged Python environment, read from its files; nothing of it is imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Tuple, Union

from gonogo.node.facts.missing import UNCOLLECTED, Missing
from gonogo.node.facts.sections.cuda import Library


@dataclass(frozen=True)
class Distribution:
    """One installed distribution; ``folder`` is the entry of sys.path that holds it."""

    name: str  # normalised: lower case, dashes
    version: str
    folder: str


@dataclass(frozen=True)
class Torch:
    """What torch/version.py and the names of torch's files say, without importing it."""

    folder: str
    version: Union[str, Missing] = UNCOLLECTED
    cuda: Union[str, Missing] = UNCOLLECTED  # not_found: a build without CUDA
    hip: Union[str, Missing] = UNCOLLECTED  # not_found: not a ROCm build
    machine: Union[str, Missing] = UNCOLLECTED  # of its extension modules: aarch64, x86_64


@dataclass(frozen=True)
class Python:
    """The interpreter that is judged. ``origin`` says how it was chosen.

    ``start`` is True when the interpreter ran and answered. Otherwise its reason and detail say how it failed
    (a signal, a time-out, an exit status), and the paths below come from the folder layout alone.
    """

    executable: str
    origin: str  # --python, VIRTUAL_ENV, CONDA_PREFIX, ./.venv, python3 on PATH
    start: Union[bool, Missing] = UNCOLLECTED
    noise: str = ""  # what it printed at start-up besides our answer, cut to one line
    version: Union[str, Missing] = UNCOLLECTED
    machine: Union[str, Missing] = UNCOLLECTED
    prefix: Union[str, Missing] = UNCOLLECTED
    base_prefix: Union[str, Missing] = UNCOLLECTED
    user_site: Union[str, Missing] = UNCOLLECTED  # not_found: disabled
    search_path: Union[Tuple[str, ...], Missing] = UNCOLLECTED
    distributions: Union[Tuple[Distribution, ...], Missing] = UNCOLLECTED
    torch: Union[Torch, Missing] = UNCOLLECTED
    cuda_libraries: Union[Tuple[Library, ...], Missing] = UNCOLLECTED  # libcudart files the environment brings
    constraint_file: Union[str, Missing] = UNCOLLECTED
    constraints: Union[Mapping[str, str], Missing] = UNCOLLECTED  # name: pinned version
