"""Where results go: standard output, or a file that is replaced whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

from gonogo.cli import UsageError


def write(text: str, target: str | None) -> None:
    """Write ``text`` to ``target``, or to standard output when it is None or "-". Raises UsageError."""
    if target is None or target == "-":
        data = text.encode("utf-8", "backslashreplace")
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        _replace(Path(target), text)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}") from None


def _replace(path: Path, text: str) -> None:
    try:
        special = not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        special = False
    if special:  # /dev/stdout, a named pipe: nothing to replace
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    # A link stays a link: what it points to is replaced.
    real = path.resolve()
    descriptor, temporary = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(real)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
