"""Which Python environment is judged, and what its interpreter says of itself.

Order: --python, VIRTUAL_ENV, CONDA_PREFIX, ./.venv, python3 on PATH; under sudo the variables of the user who called
it. The environment that pipx or uvx made for gonogo, and the .venv of gonogo's own checkout, are passed over.
"""

from __future__ import annotations

import os
import re
from types import MappingProxyType
from typing import Iterator, Mapping, NamedTuple

from gonogo.node import caller
from gonogo.node.facts.missing import FAILED, NOT_FOUND, Missing
from gonogo.node.ports.host import Host

LIMIT_SECONDS = 5.0


class Choice(NamedTuple):
    """An interpreter and the reason it was chosen. ``environment`` is the caller's; ``changes`` and ``user_and_group``
    are how the interpreter is to run, see Caller.
    """

    executable: str
    origin: str
    environment: Mapping[str, str]
    user_and_group: tuple[int, int] | None = None
    changes: Mapping[str, str] = MappingProxyType({})


# -- choosing ---------------------------------------------------------------------------------------------------------


def choose(host: Host) -> Choice | Missing:
    """The interpreter to judge, or Missing(not_found)."""
    environment, changes, who = caller.of(host)
    for executable, origin in _candidates(host, environment):
        if origin == "--python" or (_is_file(host, executable) and not _is_own_tool(host, executable)):
            return Choice(executable, origin, environment, who, changes)
    return Missing(NOT_FOUND, "no python3 on PATH, and no active or local environment")


def _candidates(host: Host, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if host.requested_python:
        yield locate(host, host.requested_python, environment), "--python"
        return
    if environment.get("VIRTUAL_ENV"):
        yield environment["VIRTUAL_ENV"].rstrip("/") + "/bin/python", "VIRTUAL_ENV"
    if environment.get("CONDA_PREFIX"):
        yield environment["CONDA_PREFIX"].rstrip("/") + "/bin/python", "CONDA_PREFIX"
    if host.folder:
        yield host.folder.rstrip("/") + "/.venv/bin/python", "./.venv"
    for folder in environment.get("PATH", "").split(":"):
        if folder.startswith("/"):
            yield folder.rstrip("/") + "/python3", "python3 on PATH"


def locate(host: Host, name: str, environment: Mapping[str, str]) -> str:
    """``name`` as a path: a file, the folder of an environment (its bin/python), or a command on PATH."""
    if "/" not in name and host.files.kind(f"{host.folder}/{name}") != "folder":
        for folder in environment.get("PATH", "").split(":"):
            if folder.startswith("/") and _is_file(host, f"{folder}/{name}"):
                return f"{folder.rstrip('/')}/{name}"
    path = name if name.startswith("/") else f"{host.folder.rstrip('/')}/{name}"
    if host.files.kind(path) == "folder":
        return path.rstrip("/") + "/bin/python"
    return path


def _is_file(host: Host, path: str) -> bool:
    return host.files.kind(path) == "file"


def _is_own_tool(host: Host, executable: str) -> bool:
    """Whether this is the environment that exists only to run gonogo."""
    prefix = executable.rsplit("/bin/", 1)[0]
    real, own = host.files.resolve(prefix), host.files.resolve(host.own_prefix)
    if isinstance(real, Missing) or real != own:
        return False
    if host.own_checkout and real == host.files.resolve(f"{host.own_checkout}/.venv"):
        return True
    # pipx and uv leave a receipt; a cached one-off environment lies in their cache.
    receipts = (f"{real}/pipx_metadata.json", f"{real}/uv-receipt.toml", f"{real}/pipx_expired_venv")
    if any(host.files.exists(receipt) for receipt in receipts):
        return True
    return bool(re.search(r"/(?:archive|builds|environments)-v[0-9]+/|/pipx/(?:\.cache|venvs)/|/\.?cache/pipx/", real))


# -- asking -----------------------------------------------------------------------------------------------------------

#: Runs in the judged interpreter, any version: its own paths and where torch lies, importing nothing of it.
PROBE = r"""
import sys, os
paths = [p for p in sys.path if p]
sys.path[:] = paths
user, torch = "", ""
try:
    import site
    if site.ENABLE_USER_SITE:
        user = getattr(site, "USER_SITE", None) or ""
except Exception:
    pass
try:
    import importlib.util
    spec = importlib.util.find_spec("torch")
    if spec is not None:
        torch = (list(spec.submodule_search_locations or []) or [""])[0]
except Exception:
    pass
machine = os.uname()[4] if hasattr(os, "uname") else ""
fields = ["%d.%d.%d" % sys.version_info[:3], machine, sys.prefix, getattr(sys, "base_prefix", sys.prefix), user, torch]
answer = "\n\x1egonogo\x1f" + "\x1f".join(fields + paths) + "\x1e\n"
os.write(1, os.fsencode(answer) if hasattr(os, "fsencode") else answer)
"""
_ANSWER = re.compile(r"\n\x1egonogo\x1f([^\x1e]*)\x1e\n")


class Answer(NamedTuple):
    """What the interpreter said; ``noise`` is what it printed besides."""

    version: str
    machine: str
    prefix: str
    base_prefix: str
    user_site: str
    torch_folder: str
    search_path: tuple[str, ...]
    noise: str


def ask(host: Host, choice: Choice) -> Answer | Missing:
    """Run the probe in the chosen interpreter; Missing says how that failed."""
    completed = host.commands.run(
        [choice.executable, "-c", PROBE],
        LIMIT_SECONDS,
        choice.changes if choice.user_and_group else None,
        choice.user_and_group,
    )
    if isinstance(completed, Missing):
        return completed
    # Paths come back as they were sent, whatever the locale: os.fsdecode undoes os.fsencode.
    output, errors = os.fsdecode(completed.output), os.fsdecode(completed.errors)
    answer = _ANSWER.search(output)
    if answer is None:
        return Missing(FAILED, f"{completed.ending()}{_said(errors or output)}")
    fields = answer.group(1).split("\x1f")
    if len(fields) < 6 or not re.match(r"[0-9]+\.[0-9]+\.[0-9]+$", fields[0]):
        return Missing(FAILED, "answered something else than its own paths")
    rest = "\n".join((output[: answer.start()], output[answer.end() :], errors))
    return Answer(fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], tuple(fields[6:]), first_line(rest))


def _said(text: str) -> str:
    line = first_line(text)
    return f", said {line!r}" if line else ""


def first_line(text: str) -> str:
    """The first line with anything on it, at most 160 characters."""
    return next((line.strip()[:160] for line in text.splitlines() if line.strip()), "")


def guessed_search_path(host: Host, executable: str) -> list[str]:
    """Where the site-packages of an interpreter that does not run should lie, by the layout of its folder."""
    library = executable.rsplit("/bin/", 1)[0] + "/lib"
    names = host.files.names(library)
    versions = [] if isinstance(names, Missing) else [name for name in names if re.match(r"python[0-9]", name)]
    candidates = [f"{library}/{version}/{kind}" for version in versions for kind in ("site-packages", "dist-packages")]
    return [path for path in candidates if host.files.kind(path) == "folder"]
