"""Replacing a file in one step. Apart from its caller because pathlib and tempfile cost start-up."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def replace(target: str, text: str) -> None:
    """Write ``text`` to the file ``target``: whole or not at all. Raises OSError."""
    path = Path(target)
    try:
        special = not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        special = False
    if special or target.startswith(("/dev/", "/proc/")):
        # A pipe, a device, or a name for an open file (/dev/stdout >> log): added to, never replaced.
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        return
    # A link stays a link: what it points to is replaced.
    real = path.resolve()
    descriptor, temporary = tempfile.mkstemp(prefix=".gonogo-", dir=real.parent)
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
