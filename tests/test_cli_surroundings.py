"""gonogo where something that programs take for granted is missing: a home, a PATH, a working folder, a privilege."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def findings(completed: Any) -> list[tuple[str, str]]:
    """Codes with their statuses; the report must be whole, whatever the verdict."""
    assert "Traceback" not in completed.stderr
    assert completed.returncode in (0, 1), completed.stderr
    return [(item["code"], item["status"]) for item in json.loads(completed.stdout)["findings"]]


def test_without_a_home(gonogo: Callable[..., Any], environment: Callable[..., Path]) -> None:
    variables: dict[str, str | None] = {"VIRTUAL_ENV": str(environment())}
    ordinary = findings(gonogo("check", "--format", "json", env=variables))
    for home in (None, "", "/nowhere", "relative"):
        found = findings(gonogo("check", "--format", "json", env={**variables, "HOME": home}))
        # Without a home nobody knows where models would go; everything else is as before.
        assert [row for row in found if row[0] != "G15.unknown"] == [
            row for row in ordinary if row[0] != "G15.ok" or row in found
        ]
        assert gonogo("record", env={**variables, "HOME": home}).returncode == 0


def test_nothing_in_the_environment(gonogo: Callable[..., Any]) -> None:
    # env -i: not even a PATH, so there is no python3 to judge.
    nothing: dict[str, str | None] = dict.fromkeys(("PATH", "HOME", "LANG"))
    completed = gonogo("check", "--format", "json", env=nothing)
    assert "Traceback" not in completed.stderr
    assert json.loads(completed.stdout)["environment"]["python"] is None
    assert gonogo("check", env=nothing).stdout.startswith("judged environment: none")


def test_a_home_that_may_not_be_written(somebody: Callable[..., Any]) -> None:
    home = somebody.folder / "home"  # type: ignore[attr-defined]
    home.mkdir()
    home.chmod(0o555)
    completed = somebody("check", "--format", "json", env={"HOME": str(home)})
    assert findings(completed)
    assert completed.stderr.count("\n") == 1
    assert list(home.iterdir()) == []


def test_as_a_user_without_privileges(somebody: Callable[..., Any]) -> None:
    completed = somebody("check", "--format", "json")
    assert {code.partition(".")[0] for code, _ in findings(completed)} == {f"G{number}" for number in range(1, 22)}
    assert somebody("record").returncode == 0


def test_a_working_folder_that_was_deleted(
    gonogo: Callable[..., Any], environment: Callable[..., Path], tmp_path: Path
) -> None:
    variables: dict[str, str | None] = {"VIRTUAL_ENV": str(environment())}
    ordinary = findings(gonogo("check", "--format", "json", env=variables))
    folder = tmp_path / "gone"
    folder.mkdir()
    shell = 'rmdir "$PWD"; exec "$@"'
    assert findings(gonogo("check", "--format", "json", env=variables, cwd=folder, shell=shell)) == ordinary
    folder.mkdir()
    refused = gonogo("check", "--output", "result", env=variables, cwd=folder, shell=shell)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1


def test_a_working_folder_that_may_not_be_read(somebody: Callable[..., Any]) -> None:
    folder = somebody.folder / "closed"  # type: ignore[attr-defined]
    folder.mkdir()
    # Root enters it for the user; a user's own folder needs the right to enter.
    folder.chmod(0o000 if os.geteuid() == 0 else 0o100)
    assert findings(somebody("check", "--format", "json", cwd=folder))


@pytest.mark.parametrize("name", ["trénage", "空 間", "with\nnewline", "\udcff\udcfe"])
@pytest.mark.parametrize("output_format", ["text", "plain", "json"])
def test_names_that_the_locale_cannot_spell(
    gonogo: Callable[..., Any], environment: Callable[..., Path], name: str, output_format: str
) -> None:
    try:
        folder = environment(name)
    except OSError:
        pytest.skip("this file system takes no such name")
    # The C locale, with Python kept from replacing it by UTF-8.
    poor = {"LC_ALL": "C", "LANG": None, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    rich: dict[str, str | None] = {"VIRTUAL_ENV": str(folder)}
    for variables in (rich, {**rich, **poor}):
        completed = gonogo("check", "--format", output_format, env=variables)
        assert "Traceback" not in completed.stderr
        assert completed.returncode in (0, 1)
        line = (completed.stdout if output_format == "text" else completed.stderr).splitlines()[0]
        assert line.endswith("torch 2.9.1+cu130")


def test_python_variables_of_the_user_do_not_reach_the_judgement(
    gonogo: Callable[..., Any], environment: Callable[..., Path], tmp_path: Path
) -> None:
    # A sitecustomize that prints is noise of the judged environment, and never lands in our own result.
    (tmp_path / "sitecustomize.py").write_text("print('hello')\n")
    variables: dict[str, str | None] = {"VIRTUAL_ENV": str(environment()), "PYTHONPATH": str(tmp_path)}
    completed = gonogo("check", "--format", "json", env=variables)
    # Our own interpreter has read it too, before anything of ours began.
    text = completed.stdout.removeprefix("hello\n")
    assert "G9.startup-noise" in {item["code"] for item in json.loads(text)["findings"]}


def test_interrupted_while_an_interpreter_hangs(tmp_path: Path) -> None:
    started = tmp_path / "started"
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\necho $$ > {started}.new; mv {started}.new {started}; exec sleep 60\n")
    python.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "gonogo", "check", "--python", str(python)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin"},
        text=True,
    )
    try:
        for _ in range(2000):
            if started.exists():
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
        if started.exists():
            try:
                os.kill(int(started.read_text()), signal.SIGKILL)
            except ProcessLookupError:
                pass
    assert process.returncode == 130  # 128 + SIGINT, as shells count
    assert (output, errors) == ("", "gonogo check: interrupted\n")
