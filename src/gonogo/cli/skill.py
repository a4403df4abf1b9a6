"""``gonogo skill build`` and ``skill validate``: the agent skill, generated from the catalogue."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from gonogo.cli import UsageError, _output

HELP = "build or validate the agent skill spark-training-gotchas"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``skill``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="build|validate")
    build = actions.add_parser("build", help="write the skill's folder", allow_abbrev=False)
    build.add_argument(
        "--output", metavar="DIR", required=True, help="the folder that will hold spark-training-gotchas/"
    )
    check = actions.add_parser("validate", help="check a built skill: form, limits, same text as the catalogue")
    check.add_argument("folder", nargs="?", metavar="DIR", help="the skill's folder (default: what build would write)")


def run(options: argparse.Namespace) -> int:
    """0; validate: 1 when something is wrong with the skill. Raises UsageError."""
    if options.action == "build":
        folder = _build(Path(options.output))
        _output.write(f"{folder}\n", None)
        return 0
    if options.folder is not None:
        return _validate(Path(options.folder))
    with tempfile.TemporaryDirectory() as name:
        return _validate(_build(Path(name)))


def _build(parent: Path) -> Path:
    from gonogo.assistants import skill
    from gonogo.cli import _replace

    folder = parent / skill.NAME
    try:
        for name, content in skill.files().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace.replace(str(path), content)
            path.chmod(0o755 if name.endswith(".sh") else 0o644)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or folder}: {error.strerror or error}") from None
    return folder


def _validate(folder: Path) -> int:
    from gonogo.assistants.skill import validate

    try:
        problems = validate.problems(folder)
    except OSError as error:
        raise UsageError(f"cannot read {folder / 'SKILL.md'}: {error.strerror or error}") from None
    _output.write("".join(f"{line}\n" for line in problems) or f"{folder.resolve().name}: valid\n", None)
    return int(bool(problems))
