"""``gonogo.toml``: in the working folder, and the user's own. Without either it costs two stat calls."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from gonogo.cli import UsageError

if TYPE_CHECKING:
    from gonogo.acceptance import Entry

NAME = "gonogo.toml"
LIMIT_BYTES = 1 << 20
#: The TOML reader takes time and memory with the square of a dotted key's parts, and a key is one line.
LIMIT_DOTS = 200


class Config(NamedTuple):
    """What the files say. ``files`` are those that were read, the one that wins first."""

    files: tuple[str, ...] = ()
    accepted: tuple[Entry, ...] = ()


def load() -> Config:
    """Read the files that exist; the working folder's entry wins over the user's. Raises UsageError."""
    files = _files()
    if not files:
        return Config()
    from gonogo.acceptance import merged

    return Config(tuple(files), merged(*[_entries(path) for path in files]))


def _files() -> list[str]:
    found: dict[tuple[int, int], str] = {}
    for path in (NAME, _users_own(os.environ.get("XDG_CONFIG_HOME", ""), os.environ.get("HOME", ""))):
        try:
            status = os.stat(path)  # noqa: PTH116 - pathlib costs start-up
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue  # a folder that is closed to us is somebody else's, such as HOME=/root in a container
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"cannot read {path}: no regular file")
        found.setdefault((status.st_dev, status.st_ino), path)
    return list(found.values())


def _users_own(config_home: str, home: str) -> str:
    """By the XDG base directory specification, which ignores a folder that is not absolute."""
    if not config_home.startswith("/"):
        config_home = f"{home}/.config" if home.startswith("/") else ""
    return f"{config_home}/gonogo/{NAME}" if config_home else ""


def _entries(path: str) -> tuple[Entry, ...]:
    from gonogo import catalogue
    from gonogo.acceptance import AcceptanceError, entries

    data = _read(path)
    for key in data:
        if key != "accept":
            raise UsageError(f"{path}: unknown key {key[:60]!r}: accept is the only one")
    try:
        return entries(data.get("accept", {}), path, catalogue.gotchas(), catalogue.codes())
    except AcceptanceError as error:
        raise UsageError(f"{path}: {error}") from None


def _read(path: str) -> dict[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        # It may have become a pipe since we looked: that must not block.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:  # noqa: PTH123
            content = file.read(LIMIT_BYTES + 1) or b""
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    if len(content) > LIMIT_BYTES:
        raise UsageError(f"{path} is larger than {LIMIT_BYTES >> 20} MiB: no configuration")
    if any(line.count(b".") > LIMIT_DOTS for line in content.splitlines()):
        raise UsageError(f"{path} has more than {LIMIT_DOTS} dots in a line: no configuration")
    try:
        data: dict[str, Any] = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no TOML: not UTF-8 text") from None
    except RecursionError:
        raise UsageError(f"{path} is no TOML: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, which gives line and column; a number of too many digits
        raise UsageError(f"{path} is no TOML: {error}") from None
    return data
