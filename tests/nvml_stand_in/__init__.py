"""Building the stand-ins for libnvidia-ml.so.1 that lie beside this file."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def build(folder: Path, source: str, *flags: str) -> Path:
    """Compile ``source`` as libnvidia-ml.so.1 into ``folder`` and return ``folder``."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "libnvidia-ml.so.1"
    command = [compiler, "-shared", "-fPIC", "-Wall", "-Werror", *flags, "-o", str(target), str(HERE / source)]
    subprocess.run(command, check=True, timeout=60)
    return folder


def real_nvml() -> bool:
    """Whether this machine has NVML of its own: tests of a machine without it mean nothing there."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True
