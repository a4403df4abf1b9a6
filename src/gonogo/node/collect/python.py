"""The judged Python environment: chosen, asked for its paths, then read from its files."""

from __future__ import annotations

import re
from typing import Sequence

from gonogo.node import interpreter
from gonogo.node.facts.missing import FAILED, NOT_FOUND, Missing
from gonogo.node.facts.sections.cuda import Library
from gonogo.node.facts.sections.python import Distribution, Python, Torch
from gonogo.node.parse import keyed, torch_version
from gonogo.node.ports.host import Host

_INFO = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._]*)-([^-]+?)(?:-py[0-9.]+)?\.(?:dist-info|egg-info)$")
#: libcudart.so.13, libcudart.so.13.0.96, libcudart.so.11.0, the libcudart-9335f6a2.so.12 of a repaired wheel.
_CUDART = re.compile(r"^libcudart(?:-[0-9a-f]{8})?\.so\.([0-9]+)((?:\.[0-9]+)*)$")
_EXTENSION_MACHINE = re.compile(r"^_C\.cpython-[0-9]+[a-z]*-([a-z0-9_]+)-linux-gnu\.so$")
CONSTRAINT_FILE = "/etc/pip/constraint.txt"


def collect(host: Host) -> Python | Missing:
    """Missing(not_found) when there is no Python to judge; an interpreter that does not run is a fact."""
    choice = interpreter.choose(host)
    if isinstance(choice, Missing):
        return choice
    answer = interpreter.ask(host, choice)
    constraint_file, constraints = _constraints(host, choice)
    if isinstance(answer, Missing):
        paths: tuple[str, ...] = tuple(interpreter.guessed_search_path(host, choice.executable))
        torch_folder = ""
        own = Python(choice.executable, choice.origin, start=answer)
    else:
        paths, torch_folder = answer.search_path, answer.torch_folder
        own = Python(
            choice.executable,
            choice.origin,
            start=True,
            noise=answer.noise,
            version=answer.version,
            machine=answer.machine or Missing(NOT_FOUND),
            prefix=answer.prefix,
            base_prefix=answer.base_prefix,
            user_site=answer.user_site or Missing(NOT_FOUND),
        )
    torch = _torch(host, torch_folder, paths)
    if isinstance(torch, Missing) and isinstance(answer, Missing):
        torch = Missing(
            FAILED, "the interpreter did not answer, and torch is not where its folder's layout would put it"
        )
    folders = [path for path in dict.fromkeys(paths) if host.files.kind(path) == "folder"]
    return own._replace(
        search_path=paths,
        distributions=_distributions(host, folders),
        torch=torch,
        cuda_libraries=_cuda_libraries(host, folders, torch, own.prefix),
        constraint_file=constraint_file,
        constraints=constraints,
    )


def _distributions(host: Host, folders: Sequence[str]) -> tuple[Distribution, ...]:
    found: list[Distribution] = []
    for folder in folders:
        names = host.files.names(folder)
        for name in () if isinstance(names, Missing) else names:
            info = _INFO.match(name)
            if info:
                found.append(Distribution(keyed.normalised(info.group(1)), info.group(2), folder))
    return tuple(found)


def _torch(host: Host, folder: str, paths: Sequence[str]) -> Torch | Missing:
    candidates = [folder] if folder else [f"{path}/torch" for path in paths]
    for candidate in candidates:
        text = host.files.text(f"{candidate}/version.py")
        if isinstance(text, Missing):
            continue
        values = torch_version.read(text)
        return Torch(
            folder=candidate,
            version=values.get("version") or Missing(FAILED, "no version in torch/version.py"),
            cuda=_named(values, "cuda"),
            hip=values.get("hip") or Missing(NOT_FOUND),
            machine=_extension_machine(host, candidate),
        )
    if folder:
        unreadable = Missing(FAILED, f"{folder}/version.py is not readable")
        return Torch(folder, version=unreadable, cuda=unreadable)
    return Missing(NOT_FOUND)


def _named(values: dict[str, str | None], name: str) -> str | Missing:
    """The value assigned to ``name``; not_found only where the file says None."""
    if name not in values:
        return Missing(FAILED, f"torch/version.py assigns no literal to {name}")
    return values[name] or Missing(NOT_FOUND)


def _extension_machine(host: Host, folder: str) -> str | Missing:
    names = host.files.names(folder)
    for name in () if isinstance(names, Missing) else names:
        found = _EXTENSION_MACHINE.match(name)
        if found:
            return found.group(1)
    return Missing(NOT_FOUND)


def _cuda_libraries(
    host: Host, folders: Sequence[str], torch: Torch | Missing, prefix: str | Missing
) -> tuple[Library, ...]:
    places: dict[str, str] = {}
    for folder in folders:
        packages = host.files.names(f"{folder}/nvidia")
        for package in () if isinstance(packages, Missing) else packages:
            places.setdefault(f"{folder}/nvidia/{package}/lib", "nvidia packages")
    if not isinstance(torch, Missing):
        places.setdefault(f"{torch.folder}/lib", "torch/lib")
    if not isinstance(prefix, Missing) and prefix not in ("/usr", "/usr/local"):
        places.setdefault(f"{prefix}/lib", "the environment's lib")
    found: list[Library] = []
    for place, how in places.items():
        names = host.files.names(place)
        for name in () if isinstance(names, Missing) else names:
            runtime = _CUDART.match(name)
            if runtime:
                soname = f"libcudart.so.{runtime.group(1)}" + (".0" if runtime.group(1) == "11" else "")
                found.append(Library(soname, f"{place}/{name}", how))
    return tuple(found)


def _constraints(host: Host, choice: interpreter.Choice) -> tuple[str | Missing, dict[str, str] | Missing]:
    named = choice.environment.get("PIP_CONSTRAINT", "").split()
    problem: str | Missing = Missing(NOT_FOUND)
    for path in named or [CONSTRAINT_FILE]:
        text = host.files.text(path)
        if not isinstance(text, Missing):
            return path, keyed.constraints(text)
        problem = text
    return problem, Missing(NOT_FOUND)
