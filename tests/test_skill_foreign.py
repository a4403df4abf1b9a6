"""``gonogo skill`` among other people's files: nothing of theirs is overwritten, nothing foreign passes as ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NAME = "spark-training-gotchas"
Gonogo = Callable[..., Any]


def build(gonogo: Gonogo, parent: Path, *options: str) -> Any:
    return gonogo("skill", "build", "--output", str(parent), *options)


def test_somebody_elses_skill_of_that_name_is_kept_unless_forced(gonogo: Gonogo, tmp_path: Path) -> None:
    page = tmp_path / NAME / "SKILL.md"
    page.parent.mkdir()
    page.write_text("mine\n")
    refused = build(gonogo, tmp_path)
    assert refused.returncode == 2 and "--force" in refused.stderr and len(refused.stderr.splitlines()) == 1
    assert page.read_text() == "mine\n"
    assert build(gonogo, tmp_path, "--force").returncode == 0
    assert page.read_text().startswith("---\n")


@pytest.mark.parametrize("link", ["", "SKILL.md", "assets", "assets/preflight.sh"])
def test_nothing_is_written_through_a_link(gonogo: Gonogo, tmp_path: Path, link: str) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / "kept").write_text("kept\n")
    place = tmp_path / "skills" / NAME / link if link else tmp_path / "skills" / NAME
    place.parent.mkdir(parents=True)
    place.symlink_to(target / "kept" if "." in link else target)
    refused = build(gonogo, tmp_path / "skills")
    assert refused.returncode == 2 and "link" in refused.stderr
    assert [path.name for path in target.iterdir()] == ["kept"]
    assert (target / "kept").read_text() == "kept\n"


def test_a_pipe_in_the_page_s_place_holds_nobody(gonogo: Gonogo, tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    os.mkfifo(tmp_path / NAME / "SKILL.md")
    assert build(gonogo, tmp_path).returncode == 2
    assert gonogo("skill", "validate", str(tmp_path / NAME)).returncode == 1


def test_a_foreign_file_is_named(gonogo: Gonogo, tmp_path: Path) -> None:
    build(gonogo, tmp_path)
    (tmp_path / NAME / "assets" / "extra.sh").write_text("true\n")
    completed = gonogo("skill", "validate", str(tmp_path / NAME))
    assert (completed.returncode, completed.stdout) == (1, "assets/extra.sh: no part of the skill\n")
    (tmp_path / NAME / "assets" / "extra.sh").rename(tmp_path / NAME / "assets" / "gonogo-collect.pyz")
    assert gonogo("skill", "validate", str(tmp_path / NAME)).returncode == 0


def test_no_folder_named(gonogo: Gonogo) -> None:
    completed = gonogo("skill", "build", "--output", "")
    assert completed.returncode == 2 and len(completed.stderr.splitlines()) == 1
