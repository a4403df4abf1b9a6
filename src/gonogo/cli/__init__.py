"""The command line: one module a verb, loaded when that verb is called.

A verb module has ``HELP`` (one line), ``arguments(parser)`` and ``run(options)``, which returns the exit status.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from gonogo import __version__
from gonogo.cli import _streams
from gonogo.node.modules import submodules

USAGE_ERROR = 2
NAGIOS_UNKNOWN = 3
INTERRUPTED = 130


class UsageError(Exception):
    """The call cannot be carried out; the message is one line, the exit status 2, for nagios 3."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def print_help(self, file: Any = None) -> None:
        _streams.write_out(self.format_help())


def verbs() -> list[str]:
    """The names of all verbs."""
    return submodules(__path__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Nothing wrong inside ends in a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    program = "gonogo"
    try:
        if not words:
            for line in _overview().splitlines():
                _streams.write_error(line)
            return USAGE_ERROR
        if words[0] in ("-h", "--help", "help"):
            _streams.write_out(_overview())
            return 0
        if words[0] in ("-V", "--version"):
            _streams.write_out(f"gonogo {__version__}\n")
            return 0
        program = f"gonogo {words[0]}"
        return _verb(words[0], words[1:])
    except (UsageError, _streams.StreamError) as error:
        return _told(words, program, str(error), USAGE_ERROR)
    except KeyboardInterrupt:
        status = _told(words, program, "interrupted", INTERRUPTED)
        # Not by returning: an interrupt that falls into an eval (NamedTuple's, at import) stays marked unhandled, and
        # CPython then ends by the signal instead of the status. Everything written is flushed already.
        os._exit(status)
    except OSError as error:
        return _told(words, program, error.strerror or str(error), USAGE_ERROR)
    except Exception as error:
        if not _for_nagios(words):
            raise
        return _told(words, program, f"{type(error).__name__}: {error}", USAGE_ERROR)


def _for_nagios(words: list[str]) -> bool:
    """By the words alone: also where they are too wrong to be parsed, 2 must not be returned, which is CRITICAL."""
    return "--format=nagios" in words or any(words[at : at + 2] == ["--format", "nagios"] for at in range(len(words)))


def _told(words: list[str], program: str, message: str, status: int) -> int:
    """Say why the call was not carried out, and return the exit status: ``status``, for nagios always its own."""
    if not _for_nagios(words):
        _streams.write_error(f"{program}: {message}")
        return status
    from gonogo.report import nagios

    try:
        _streams.write_out(nagios.first_line(nagios.UNDECIDED, message) + "\n")
    except _streams.StreamError:
        _streams.write_error(f"{program}: {message}")
    return NAGIOS_UNKNOWN


def _verb(name: str, words: list[str]) -> int:
    if not name.isidentifier() or name.startswith("_") or name not in verbs():
        raise UsageError(f"unknown verb {name!r}: one of {', '.join(verbs())}")
    module = importlib.import_module(f"{__name__}.{name}")
    parser = _Parser(prog=f"gonogo {name}", description=module.HELP, allow_abbrev=False)
    module.arguments(parser)
    return module.run(parser.parse_args(words))  # type: ignore[no-any-return]


def _overview() -> str:
    lines = [
        "usage: gonogo VERB [options]",
        "",
        "Go or no-go for machine-learning runs on NVIDIA DGX Spark (GB10) and other NVIDIA GPUs.",
        "",
    ]
    for name in verbs():
        lines.append(f"  {name:<10} {importlib.import_module(f'{__name__}.{name}').HELP}")
    return "\n".join([*lines, "", "gonogo VERB --help tells the options; gonogo --version the version.", ""])
