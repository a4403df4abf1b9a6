"""The command line: one module a verb, loaded when that verb is called.

A verb module has ``HELP`` (one line), ``arguments(parser)`` and ``run(options)``, which returns the exit status.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from gonogo import __version__
from gonogo.node.modules import submodules

USAGE_ERROR = 2
INTERRUPTED = 130


class UsageError(Exception):
    """The call cannot be carried out; the message is one line, the exit status 2."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def verbs() -> list[str]:
    """The names of all verbs."""
    return submodules(__path__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Nothing wrong inside ends in a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    program = "gonogo"
    try:
        if not words or words[0] in ("-h", "--help", "help"):
            sys.stdout.write(_overview())
            return 0 if words else USAGE_ERROR
        if words[0] in ("-V", "--version"):
            sys.stdout.write(f"gonogo {__version__}\n")
            return 0
        program = f"gonogo {words[0]}"
        status = _verb(words[0], words[1:])
        sys.stdout.flush()
        return status
    except UsageError as error:
        _say(f"{program}: {error}")
        return USAGE_ERROR
    except KeyboardInterrupt:
        _say(f"{program}: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (head, less): not our failure. Keep the interpreter from flushing into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _say(f"{program}: {error.strerror or error}")
        return USAGE_ERROR


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


def _say(line: str) -> None:
    from gonogo.printable import printable

    try:
        sys.stderr.write(printable(line) + "\n")
    except OSError:
        pass
