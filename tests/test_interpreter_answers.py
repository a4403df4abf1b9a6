"""Asking real interpreters, and programs that only pretend to be one.

The oracle for a good answer is the interpreter itself, asked the same thing another way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gonogo.node import interpreter
from gonogo.node.collect import python
from gonogo.node.facts.missing import FAILED, NOT_FOUND, PERMISSION_DENIED, TIMED_OUT, Missing
from gonogo.node.facts.sections.python import Python
from gonogo.node.interpreter import Answer, Choice, ask
from gonogo.node.ports.host import Host, live_host

BASE = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"

pytestmark = [
    pytest.mark.skipif(not BASE.exists(), reason="an interpreter without bin/"),
    # A killed program is not waited for: Popen says so when it is collected.
    pytest.mark.filterwarnings("ignore:subprocess [0-9]+ is still running:ResourceWarning"),
]


@pytest.fixture(scope="session")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real virtual environment."""
    folder = tmp_path_factory.mktemp("real") / "venv"
    subprocess.run([BASE, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
    return folder


def site_packages(folder: Path) -> Path:
    [found] = (folder / "lib").glob("python3*/site-packages")
    return found


@pytest.fixture
def pretend(tmp_path: Path) -> Callable[[str], Choice]:
    """A program that is called python and is a shell script."""

    def make(script: str) -> Choice:
        path = tmp_path / "pretend" / "bin" / "python"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return Choice(str(path), "--python", {})

    return make


HOST = live_host()


def answered(choice: Choice, host: Host = HOST) -> Answer:
    answer = ask(host, choice)
    assert isinstance(answer, Answer), answer
    return answer


def failed(choice: Choice, host: Host = HOST) -> Missing:
    answer = ask(host, choice)
    assert isinstance(answer, Missing)
    return answer


# -- real interpreters ------------------------------------------------------------------------------------------------


def test_a_real_environment(venv: Path) -> None:
    executable = str(venv / "bin" / "python")
    question = (
        "import json, platform, sys; print(json.dumps([platform.python_version(), platform.machine(), sys.prefix, "
        "sys.base_prefix, [p for p in sys.path if p]]))"
    )
    said = json.loads(subprocess.run([executable, "-c", question], capture_output=True, check=True).stdout)
    answer = answered(Choice(executable, "--python", {}))
    assert [answer.version, answer.machine, answer.prefix, answer.base_prefix, list(answer.search_path)] == said
    assert answer.prefix == str(venv) and str(site_packages(venv)) in answer.search_path
    assert (answer.torch_folder, answer.user_site, answer.noise) == ("", "", "")


def test_torch_is_found_and_not_imported(venv: Path, tmp_path: Path) -> None:
    folder = tmp_path / "packages"
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\n")
    (site_packages(venv) / "more.pth").write_text(f"{folder}\n")
    try:
        answer = answered(Choice(str(venv / "bin" / "python"), "--python", {}))
    finally:
        (site_packages(venv) / "more.pth").unlink()
    assert answer.torch_folder == str(folder / "torch")
    assert not (tmp_path / "imported").exists()


def test_noise_at_start_is_kept_apart(venv: Path) -> None:
    custom = site_packages(venv) / "sitecustomize.py"
    custom.write_text("import sys\nprint('out noise', end='')\nprint('err noise', file=sys.stderr)\n")
    try:
        answer = answered(Choice(str(venv / "bin" / "python"), "--python", {}))
    finally:
        custom.unlink()
    assert answer.prefix == str(venv)
    assert answer.noise == "out noise"


def test_user_site(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": "/bin", "PYTHONUSERBASE": str(tmp_path / "user")}
    question = "import site; print(site.USER_SITE if site.ENABLE_USER_SITE else '')"
    said = subprocess.run([BASE, "-c", question], env=environment, capture_output=True, text=True, check=True).stdout
    # With a user to run as, the environment of the choice is the interpreter's.
    who = (os.geteuid(), os.getegid()) if os.geteuid() == 0 else None
    if who is None:
        pytest.skip("only root runs the interpreter in another environment")
    assert answered(Choice(str(BASE), "--python", environment, who, environment)).user_site == said.strip() != ""


def test_the_folder_the_check_was_started_in_is_no_search_path(
    venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # -c puts "" first: a torch folder that happens to lie here is not installed.
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    answer = answered(Choice(str(venv / "bin" / "python"), "./.venv", {}))
    assert answer.torch_folder == ""
    assert str(tmp_path) not in answer.search_path


@pytest.mark.skipif(sys.platform == "darwin", reason="names of files must be UTF-8 there")
def test_an_environment_whose_folder_is_no_utf8(tmp_path: Path) -> None:
    # By hand, since venv itself refuses.
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(BASE)
    (folder / "pyvenv.cfg").write_text(f"home = {BASE.parent}\n")
    answer = answered(Choice(str(folder / "bin" / "python"), "--python", {}))
    # A path that names no file is of no use to those who read below it.
    assert Path(answer.prefix).is_dir()


# -- those that only pretend ------------------------------------------------------------------------------------------


def test_a_crash(pretend: Callable[[str], Choice]) -> None:
    assert failed(pretend("kill -SEGV $$")) == Missing(FAILED, "killed by SIGSEGV")
    spoke = failed(pretend("echo 'libpython3.12.so.1.0: cannot open shared object file' >&2\nkill -ABRT $$"))
    assert spoke == Missing(FAILED, "killed by SIGABRT, said 'libpython3.12.so.1.0: cannot open shared object file'")


def test_a_hang(pretend: Callable[[str], Choice], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "LIMIT_SECONDS", 0.3)
    assert failed(pretend("sleep 60")) == Missing(TIMED_OUT, "no answer within 0.3 s")


def test_an_exit_status(pretend: Callable[[str], Choice]) -> None:
    assert failed(pretend("exit 1")) == Missing(FAILED, "exit status 1")
    assert failed(pretend("echo no >&2; exit 127")) == Missing(FAILED, "exit status 127, said 'no'")
    # It ended well and did not answer: that is no Python.
    assert failed(pretend("echo hello")) == Missing(FAILED, "exit status 0, said 'hello'")


@pytest.mark.parametrize(
    "answer",
    [
        r"\036gonogo\037\036",
        r"\036gonogo\0373.12.3\037aarch64\036",
        r"\036gonogo\037three\037aarch64\037/v\037/u\037\037\036",
        r"\036gonogo\037\037\037\037\037\037\037\036",
        r"\036gonogo\0373.12.3\037aarch64\037/v\037/u\037\037",
        r"\377\376\000",
    ],
)
def test_garbage(pretend: Callable[[str], Choice], answer: str) -> None:
    assert failed(pretend(rf"printf '\n{answer}\n'")).reason == FAILED


def test_an_answer_amid_noise(pretend: Callable[[str], Choice]) -> None:
    answer = answered(pretend(f'echo before\necho error >&2\n{BASE} "$@"\necho after'))
    assert answer.noise == "before"
    assert answer.base_prefix == sys.base_prefix
    # A status after the answer is no failure of the interpreter's.
    assert answered(pretend(f'{BASE} "$@"\nexit 3')).noise == ""


def test_more_noise_than_is_kept(pretend: Callable[[str], Choice]) -> None:
    # Output is kept up to 1 MiB: an answer behind more than that is lost, which must not hang or raise.
    assert failed(pretend(f'head -c 3000000 /dev/zero\n{BASE} "$@"')).reason == FAILED


def test_an_interpreter_that_cannot_be_run(tmp_path: Path) -> None:
    assert failed(Choice(str(tmp_path / "none"), "--python", {})).reason == NOT_FOUND
    (tmp_path / "python").write_text("#!/bin/sh\n")
    assert failed(Choice(str(tmp_path / "python"), "--python", {})).reason == PERMISSION_DENIED
    (tmp_path / "python").write_text(f"#!{tmp_path}/none\n")
    (tmp_path / "python").chmod(0o755)
    # A shebang that leads nowhere, as in an environment that was moved.
    assert failed(Choice(str(tmp_path / "python"), "--python", {})).reason == NOT_FOUND


# -- from choice to facts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variable, origin", [("VIRTUAL_ENV", "VIRTUAL_ENV"), ("CONDA_PREFIX", "CONDA_PREFIX"), (None, "./.venv")]
)
def test_facts_of_a_real_environment(venv: Path, tmp_path: Path, variable: str | None, origin: str) -> None:
    environment = {variable: str(venv)} if variable else {}
    (tmp_path / ".venv").symlink_to(venv)
    host = HOST._replace(environment=environment, folder="" if variable else str(tmp_path), user=1000)
    facts = python.collect(host)
    assert isinstance(facts, Python)
    assert (facts.origin, facts.start, facts.torch) == (origin, True, Missing(NOT_FOUND))
    assert os.path.realpath(str(facts.prefix)) == os.path.realpath(venv)


def test_the_tests_own_environment_is_judged_only_where_it_is_no_tool(venv: Path) -> None:
    host = HOST._replace(environment={"VIRTUAL_ENV": str(venv)}, own_prefix=str(venv), folder="", user=1000)
    assert not isinstance(python.collect(host), Missing)
    receipt = venv / "uv-receipt.toml"
    receipt.touch()
    try:
        assert isinstance(python.collect(host), Missing)
    finally:
        receipt.unlink()


def test_a_crashing_interpreter_is_a_finding(gonogo: Callable[..., Any], pretend: Callable[[str], Choice]) -> None:
    choice = pretend("kill -SEGV $$")
    completed = gonogo("check", "--python", choice.executable, "--format", "json", timeout=60)
    found = [item for item in json.loads(completed.stdout)["findings"] if item["code"] == "G1.environment-unreadable"]
    assert [item["status"] for item in found] == ["UNKNOWN"]
    assert "killed by SIGSEGV" in found[0]["message"]
