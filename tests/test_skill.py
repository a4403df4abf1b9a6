"""The agent skill: the committed folder is what the catalogue gives, well formed, and all that it tells to run runs.

The form is that of the Agent Skills convention (agentskills.io/specification); the content is that of issue 3.
"""

from __future__ import annotations

import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from preflight_script import NUMBERS, SCRIPT, SKILL

Gonogo = Callable[..., Any]

NAME = "spark-training-gotchas"
FILES = {"SKILL.md": 0o644, "references/gotcha-checks.md": 0o644, "assets/preflight.sh": 0o755}
PAGE = (SKILL / "SKILL.md").read_text(encoding="utf-8")
CHECKS = (SKILL / "references" / "gotcha-checks.md").read_text(encoding="utf-8")
FRONT, BODY = re.match(r"---\n(.*?)\n---\n(.*)", PAGE, re.DOTALL).groups()  # type: ignore[union-attr]


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Path below ``folder`` to content and mode."""
    files = [path for path in folder.rglob("*") if not path.is_dir()]
    return {str(f.relative_to(folder)): (f.read_bytes(), stat.S_IMODE(f.stat().st_mode)) for f in files}


@pytest.fixture
def built(gonogo: Gonogo, tmp_path: Path) -> Path:
    completed = gonogo("skill", "build", "--output", str(tmp_path / "new" / "skills"))
    folder = tmp_path / "new" / "skills" / NAME
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, f"{folder}\n", "")
    return folder


# -- building ---------------------------------------------------------------------------------------------------------


def test_the_committed_skill_is_what_the_catalogue_gives(built: Path) -> None:
    """When this fails: gonogo skill build --output skills."""
    assert {name: mode for name, (_, mode) in tree(built).items()} == FILES
    committed = tree(SKILL)
    assert set(committed) == set(FILES)
    for name, (content, _) in tree(built).items():
        assert content.decode() == committed[name][0].decode(), name
    assert committed["assets/preflight.sh"][1] & 0o111 == 0o111  # git keeps no other bit


def test_modes_do_not_hang_on_the_umask(gonogo: Gonogo, tmp_path: Path) -> None:
    assert gonogo("skill", "build", "--output", str(tmp_path), shell='umask 077; exec "$@"').returncode == 0
    assert {name: mode for name, (_, mode) in tree(tmp_path / NAME).items()} == FILES


def test_an_older_copy_is_replaced(gonogo: Gonogo, built: Path) -> None:
    expected = tree(built)
    for path in (built / "SKILL.md", built / "assets" / "preflight.sh"):
        path.write_text("old\n")
        path.chmod(0o600)
    (built / "references" / "gotcha-checks.md").unlink()
    assert gonogo("skill", "build", "--output", str(built.parent)).returncode == 0
    assert tree(built) == expected


def test_built_into_the_working_folder(gonogo: Gonogo, tmp_path: Path) -> None:
    completed = gonogo("skill", "build", "--output", ".", cwd=tmp_path)
    assert (completed.returncode, completed.stdout) == (0, f"{NAME}\n")
    assert set(tree(tmp_path / NAME)) == set(FILES)


def refused(completed: Any) -> str:
    assert (completed.returncode, completed.stdout) == (2, ""), completed
    assert re.fullmatch(r"gonogo skill: [^\n]+\n", completed.stderr), completed
    return str(completed.stderr)


WRONG = ["", "build", "build --output", "destroy", "build --out x", "validate a b", "validate -x"]


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_call(gonogo: Gonogo, words: str) -> None:
    refused(gonogo("skill", *words.split()))


@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/x", "/proc/no-such"])
def test_a_place_that_cannot_be_written(gonogo: Gonogo, place: str) -> None:
    assert place in refused(gonogo("skill", "build", "--output", place))


def test_a_folder_of_somebody_else(somebody: Gonogo) -> None:
    folder: Path = somebody.folder / "closed"  # type: ignore[attr-defined]
    folder.mkdir()
    folder.chmod(0o555)
    assert "Permission denied" in refused(somebody("skill", "build", "--output", str(folder)))


# -- validating -------------------------------------------------------------------------------------------------------


def changed(old: str, new: str) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        text = (folder / "SKILL.md").read_text()
        assert re.search(old, text)
        (folder / "SKILL.md").write_text(re.sub(old, lambda found: new, text, count=1))

    return damage


DAMAGE: list[tuple[str, Callable[[Path], object]]] = [
    (r"name 'other' is not the folder's", changed("name: spark-training-gotchas", "name: other")),
    (r"name None is not the folder's", changed("name: .*\n", "")),
    (r"description has 1500 characters", changed('description: ".*"', f'description: "{"x" * 1500}"')),
    (r"description has 0 characters", changed("description: .*\n", "")),
    (r"description holds ': ' and is not quoted", changed('description: ".*"', "description: Use: when it fails")),
    (r"no front matter", changed("(?s)^---\n.*?\n---\n", "")),
    (r"no front matter", lambda folder: (folder / "SKILL.md").write_text("")),
    (r"unknown key 'colour'", changed("license: ", "colour: red\nlicense: ")),
    (r"body of [56]\d\d lines, the limit is 500", changed("\\Z", "more\n" * 450)),
    (r"SKILL\.md: differs", changed("two Sparks", "three Sparks")),
    (r"references/gotcha-checks\.md: missing", lambda folder: (folder / "references" / "gotcha-checks.md").unlink()),
    (r"assets/preflight\.sh: missing", lambda folder: (folder / "assets" / "preflight.sh").unlink()),
    (r"assets/preflight\.sh: differs", lambda folder: (folder / "assets" / "preflight.sh").write_bytes(b"\xff\x00")),
    (r"assets/preflight\.sh: not executable", lambda folder: (folder / "assets" / "preflight.sh").chmod(0o644)),
    (
        r"name 'spark-training-gotchas' is not the folder's, 'renamed'",
        lambda folder: folder.rename(folder.parent / "renamed"),
    ),
]


@pytest.mark.parametrize(("line", "damage"), DAMAGE, ids=[line for line, _ in DAMAGE])
def test_each_kind_of_damage_is_one_line(
    gonogo: Gonogo, built: Path, line: str, damage: Callable[[Path], object]
) -> None:
    valid = gonogo("skill", "validate", str(built))
    assert (valid.returncode, valid.stdout, valid.stderr) == (0, f"{NAME}: valid\n", "")
    damage(built)
    completed = gonogo("skill", "validate", str(next(built.parent.iterdir())))
    assert (completed.returncode, completed.stderr) == (1, "")
    assert len([row for row in completed.stdout.splitlines() if re.search(line, row)]) == 1, completed.stdout


def test_nothing_to_validate(gonogo: Gonogo, tmp_path: Path) -> None:
    assert "no-such" in refused(gonogo("skill", "validate", str(tmp_path / "no-such")))
    assert "SKILL.md" in refused(gonogo("skill", "validate", str(SKILL / "SKILL.md")))


# -- the convention ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.version_info < (3, 11), reason="skills-ref needs Python 3.11")
def test_the_conventions_own_validator(built: Path) -> None:
    command = [str(Path(sys.executable).parent / "agentskills"), "validate", str(built)]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert completed.returncode == 0, completed


def test_shellcheck() -> None:
    command = [str(Path(sys.executable).parent / "shellcheck"), str(SCRIPT)]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (completed.returncode, completed.stdout) == (0, ""), completed


def test_no_placeholder_is_left() -> None:
    for name, (content, _) in tree(SKILL).items():
        assert b"@@" not in content, name


# -- SKILL.md ---------------------------------------------------------------------------------------------------------


def test_the_front_matter() -> None:
    assert re.search(rf"^name: {NAME}$", FRONT, re.MULTILINE)
    assert SKILL.name == NAME
    description = re.search(r'^description: "(.*)"$', FRONT, re.MULTILINE).group(1)  # type: ignore[union-attr]
    assert 200 < len(description) <= 1024
    for situation in (
        *("fails to start", "out of memory below 128 GB", "slows down", "mid-run", "before any multi-hour job on GB10"),
        *("before wiring two Sparks", "FP8 and NVFP4", "DGX Spark", "GB10", "sm_121"),
    ):
        assert situation in description
    for error in ("libcudart.so.12: cannot open shared object file", "undefined symbol", "CUDA out of memory"):
        assert error in description


def test_the_length_of_the_body() -> None:
    assert BODY.count("\n") < 500


def test_the_table_of_the_ten() -> None:
    rows = re.findall(r"^\| (G\d+) \| (.+) \| (.+) \|$", BODY, re.MULTILINE)
    assert [row[0] for row in rows] == NUMBERS
    assert all(symptom.strip() and fix.strip() and "|" not in symptom + fix for _, symptom, fix in rows)


def sections(text: str, heading: str) -> list[tuple[str, str]]:
    parts = re.split(rf"^{heading} (G\d+): .+$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def test_each_gotcha_as_symptom_cause_check_fix() -> None:
    found = sections(BODY.partition("## Fast triage")[0], "###")
    assert [gotcha for gotcha, _ in found] == NUMBERS
    for gotcha, text in found:
        lines = [line for line in text.splitlines() if line.strip()]
        assert [line.split(":**")[0] for line in lines] == ["- **Symptom", "- **Cause", "- **Check", "- **Fix"], gotcha
        assert all(len(line.split(":**")[1].strip()) > 10 for line in lines)


def test_the_three_cheapest_checks() -> None:
    triage = BODY.partition("## Fast triage")[2]
    commands = [line for line in blocks(triage)[0].splitlines() if line.strip()]
    assert len(commands) == 3
    for command, what, expected in zip(
        commands,
        ("torch.version.cuda", "get_device_capability()", "/.dockerenv"),
        (("13.x",), ("(12, 1)",), ("container", "unknown")),
        strict=True,
    ):
        assert what in command and all(text in command for text in expected)
    # Run here: the third needs nothing but a shell, and never says "bare host".
    said = subprocess.run(["bash", "-c", commands[2]], capture_output=True, text=True, check=False).stdout
    assert said in ("container\n", "unknown\n")


def test_it_leads_to_its_own_files() -> None:
    for name in ("assets/preflight.sh", "references/gotcha-checks.md"):
        assert name in BODY
    for path in re.findall(r"(?:assets|references)/[\w.-]+", PAGE + CHECKS + SCRIPT.read_text()):
        assert (SKILL / path.rstrip(".")).is_file(), path


# -- references/gotcha-checks.md --------------------------------------------------------------------------------------

PARTS = ("How to read it.", "What not to conclude.", "Harmless look-alikes.")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_each_check_with_and_without_gonogo() -> None:
    found = sections(CHECKS, "##")
    assert [gotcha for gotcha, _ in found] == NUMBERS
    for gotcha, text in found:
        with_it, without = blocks(text)
        assert re.match(rf"gonogo (check --select|explain) {gotcha}\b", with_it)
        assert "gonogo" not in without and without.strip()
        assert text.index("Without gonogo:") < text.index(without)
        for part in PARTS:
            assert re.search(rf"\*\*{re.escape(part)}\*\* \S", text), (gotcha, part)
        assert re.search(r"\*\*Intrusive:\*\* \S.*\*\*Last verified:\*\* 20\d\d-\d\d\.", text), gotcha


def test_every_bash_block_parses() -> None:
    for block in (*blocks(PAGE), *blocks(CHECKS)):
        completed = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True, check=False)
        assert (completed.returncode, completed.stderr) == (0, ""), block


def embedded_python(text: str) -> Iterator[str]:
    yield from re.findall(r"<<'PY'\n(.*?)^PY$", text, re.DOTALL | re.MULTILINE)
    yield from re.findall(r'python3 -c "([^"]*)"', text)
    yield from re.findall(r"python3 -c '([^']*)'", text)


def test_all_embedded_python_compiles() -> None:
    found = [*embedded_python(PAGE), *embedded_python(CHECKS), *embedded_python(SCRIPT.read_text())]
    assert len(found) > 10
    for code in found:
        compile(code, "embedded", "exec")


def test_every_command_of_gonogo_exists(gonogo: Gonogo) -> None:
    lines = [line for text in (PAGE, CHECKS) for block in blocks(text) for line in block.splitlines()]
    commands = {re.split(r"  +#", line)[0] for line in lines if line.startswith("gonogo ")}
    commands |= set(re.findall(r"`(gonogo [^`]+)`", PAGE + CHECKS)) | {"gonogo check", "gonogo skill validate"}
    assert len(commands) >= 11
    for command in sorted(commands):
        completed = gonogo(*shlex.split(command)[1:])
        assert completed.returncode in (0, 1), (command, completed.stderr)
    assert "gonogo skill build" in SCRIPT.read_text()
