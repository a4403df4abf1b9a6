"""Is a folder a well-formed skill of ours: the convention's rules, and the same text as the catalogue gives now."""

from __future__ import annotations

import re
from pathlib import Path

from gonogo.assistants.skill import files

DESCRIPTION_CHARACTERS = 1024
BODY_LINES = 500
_FRONT = re.compile(r"---\n(.*?)\n---\n(.*)", re.DOTALL)
_TOP_LEVEL = re.compile(r"^([a-z-]+):(?: (.*))?$", re.MULTILINE)
ALLOWED = {"name", "description", "license", "allowed-tools", "metadata", "compatibility"}


def problems(folder: Path) -> list[str]:
    """What is wrong with the skill in ``folder``, one line each. Raises OSError when SKILL.md cannot be read."""
    page = folder / "SKILL.md"
    if page.exists() and not page.is_file():
        return ["SKILL.md: no regular file"]
    text = page.read_text(encoding="utf-8", errors="replace")
    return [*_form(folder.resolve().name, text), *_content(folder)]


def _form(folder: str, text: str) -> list[str]:
    found = _FRONT.match(text)
    if found is None:
        return ["SKILL.md: no front matter between two lines of ---"]
    front = {key: _plain(value) for key, value in _TOP_LEVEL.findall(found.group(1))}
    wrong = [
        f"SKILL.md: {key} holds ': ' and is not quoted"
        for key, value in _TOP_LEVEL.findall(found.group(1))
        if _unquoted(value)
    ]
    wrong += [f"SKILL.md: unknown key {key!r} in the front matter" for key in front if key not in ALLOWED]
    if front.get("name") != folder:
        wrong.append(f"SKILL.md: name {front.get('name')!r} is not the folder's, {folder!r}")
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", front.get("name", "")) or len(front.get("name", "")) > 64:
        wrong.append("SKILL.md: a name is lower-case words joined by dashes, at most 64 characters")
    if not 0 < len(front.get("description", "")) <= DESCRIPTION_CHARACTERS:
        wrong.append(f"SKILL.md: the description has {len(front.get('description', ''))} characters, not 1 to 1024")
    lines = found.group(2).count("\n")
    if lines >= BODY_LINES:
        wrong.append(f"SKILL.md: a body of {lines} lines, the limit is {BODY_LINES}")
    return wrong


def _plain(value: str) -> str:
    return value[1:-1].replace('\\"', '"') if len(value) > 1 and value[0] == value[-1] == '"' else value


def _unquoted(value: str) -> bool:
    return ": " in value and value[:1] not in ("'", '"')


#: What may lie beside the script: it uses it.
COLLECTOR = "assets/gonogo-collect.pyz"


def _content(folder: Path) -> list[str]:
    ours = files()
    there = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if not path.is_dir()]
    wrong = [f"{name}: no part of the skill" for name in there if name not in ours and name != COLLECTOR]
    for name, content in ours.items():
        path = folder / name
        if not path.is_file():
            wrong.append(f"{name}: missing")
        elif path.read_bytes() != content.encode():
            wrong.append(f"{name}: differs from what this gonogo generates (gonogo skill build)")
        elif name.endswith(".sh") and not path.stat().st_mode & 0o100:
            wrong.append(f"{name}: not executable")
    return wrong
