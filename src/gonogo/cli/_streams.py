"""Standard input, output and error as they may really be: closed, full, or with nobody at the other end."""

from __future__ import annotations

import os
import sys
from typing import IO

from gonogo.printable import printable


class StreamError(Exception):
    """Standard input or output cannot be used; the message is one line."""


def write_out(text: str) -> None:
    """Write to standard output and flush. A reader that has gone (head, less) is no failure. Raises StreamError."""
    stream = sys.stdout
    if stream is None:  # started with it closed
        raise StreamError("standard output is closed")
    try:
        stream.flush()
        stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        _discard_the_rest()
    except OSError as error:
        _discard_the_rest()
        raise StreamError(f"cannot write to standard output: {error.strerror or error}") from None


def _discard_the_rest() -> None:
    """Keep the interpreter from failing once more when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def write_error(line: str) -> None:
    """One line to standard error, if there is one."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(printable(line) + "\n")
        sys.stderr.flush()
    except OSError:
        pass


def read_in(limit_bytes: int) -> bytes:
    """At most ``limit_bytes`` of standard input. Raises StreamError when it is closed."""
    if sys.stdin is None:
        raise StreamError("standard input is closed")
    return sys.stdin.buffer.read(limit_bytes)


def standard_input() -> IO[bytes]:
    """Standard input as bytes, unbuffered; closing it leaves the descriptor open. Raises StreamError when closed."""
    if sys.stdin is None:
        raise StreamError("standard input is closed")
    return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
