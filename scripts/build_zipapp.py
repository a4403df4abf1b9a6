"""Build the collector zipapp: ``build_zipapp.py dist/gonogo-collect.pyz``.

One file, Python 3.8 and later, no installation: gonogo.node, and pynvml (its licence stands at its head).
The same sources give the same bytes: names sorted, one fixed time, no compiled files.
"""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
SHEBANG = b"#!/usr/bin/env python3\n"
# The oldest time a zip can hold.
TIME = (1980, 1, 1, 0, 0, 0)
MAIN = """\
import sys

if sys.version_info < (3, 8):
    sys.stderr.write("gonogo-collect needs Python 3.8 or later, this is %d.%d\\n" % sys.version_info[:2])
    sys.exit(2)

from gonogo.node.__main__ import main

try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.stderr.write("gonogo-collect: interrupted\\n")
    sys.exit(130)
"""


def contents() -> dict[str, bytes]:
    """Name in the archive to bytes."""
    files = {"__main__.py": MAIN.encode()}
    for path in (SOURCE / "gonogo" / "__init__.py", *(SOURCE / "gonogo" / "node").rglob("*.py")):
        files[path.relative_to(SOURCE).as_posix()] = path.read_bytes()
    binding = importlib.metadata.distribution("nvidia-ml-py")
    for file in binding.files or ():
        if file.name == "pynvml.py":
            files["pynvml.py"] = file.locate().read_bytes()
        elif "license" in file.name.lower():
            files["pynvml-LICENSE.txt"] = file.locate().read_bytes()
    return files


def build(target: Path) -> None:
    """Write the zipapp to ``target`` and make it executable."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        out.write(SHEBANG)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, content in sorted(contents().items()):
                entry = zipfile.ZipInfo(name, TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, content)
    target.chmod(0o755)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
