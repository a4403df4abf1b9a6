"""The collector in one file: built twice the same, and running on every Python that it promises.

Interpreters come from pyenv and from PATH: those that are not there are passed over, but there must be one.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nvml_stand_in import build

from gonogo.node.facts import codec
from gonogo.node.facts.codec import decode

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
#: Collectors whose source is there on every Linux.
EVERYWHERE = ("container", "cuda", "driver", "identity", "launch", "memory", "processes", "python", "storage")
TOO_OLD = ("2.7", "3.6", "3.7")


@functools.cache
def interpreters() -> dict[str, str]:
    """Version (3.8) to an interpreter that runs."""
    folders = []
    root = os.environ.get("PYENV_ROOT", "")
    if not root and shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=False).stdout.strip()
    if root:
        folders = sorted(Path(root, "versions").glob("*"), key=lambda path: path.name)
    found = {}
    for version in (*TOO_OLD, *SUPPORTED):
        candidates = [str(folder / "bin" / "python") for folder in folders if folder.name.startswith(f"{version}.")]
        candidates += [path for path in [shutil.which(f"python{version}")] if path]
        for candidate in candidates:
            if _version(candidate) == version:
                found[version] = candidate
                break
    return found


def _version(executable: str) -> str:
    code = "import sys; sys.stdout.write('%d.%d' % sys.version_info[:2])"
    try:
        return subprocess.run([executable, "-c", code], capture_output=True, text=True, timeout=60, check=False).stdout
    except OSError:
        return ""


def interpreter(version: str) -> str:
    if version not in interpreters():
        pytest.skip(f"no Python {version} here")
    return interpreters()[version]


def test_there_is_at_least_one_interpreter_to_try() -> None:
    assert set(interpreters()) & set(SUPPORTED)


@pytest.fixture(scope="session")
def zipapp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("zipapp") / "new folder" / "gonogo-collect.pyz"
    script = ROOT / "scripts" / "build_zipapp.py"
    subprocess.run([sys.executable, str(script), str(target)], check=True, timeout=60)
    return target


Collect = Callable[..., Any]


@pytest.fixture
def collected(zipapp: Path, tmp_path: Path) -> Collect:
    """Run the zipapp in an empty folder, with nothing of the tester's environment."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(Path(sys.executable).resolve())

    def run(executable: str, *arguments: str, **env: str) -> Any:
        full = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8", **env}
        # -W error: a warning would be a line on somebody's terminal. It must not write beside itself either.
        command = [executable, "-W", "error", str(zipapp), *arguments]
        return subprocess.run(
            command,
            env=full,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    return run


# -- the file ---------------------------------------------------------------------------------------------------------


def test_built_twice_it_is_the_same(zipapp: Path, tmp_path: Path) -> None:
    script = [sys.executable, str(ROOT / "scripts" / "build_zipapp.py"), str(tmp_path / "again.pyz")]
    odd = {"TZ": "Asia/Kolkata", "PYTHONHASHSEED": "7", "LC_ALL": "C"}
    subprocess.run(script, check=True, timeout=60, cwd="/", env={**os.environ, **odd})
    assert (tmp_path / "again.pyz").read_bytes() == zipapp.read_bytes()


def test_what_is_in_it(zipapp: Path) -> None:
    assert zipapp.stat().st_size < 1_000_000
    assert os.access(zipapp, os.X_OK)
    assert zipapp.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(zipapp) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        contents = {name: archive.read(name) for name in names}
    assert names == sorted(names)
    own = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "gonogo" / "node").rglob("*.py")}
    assert set(names) - {"pynvml-LICENSE.txt"} == own | {"__main__.py", "gonogo/__init__.py", "pynvml.py"}
    # The licence of the binding asks to go with it; its file begins with it, whether or not its wheel has another.
    assert b"Redistributions of source code must retain the above copyright notice" in contents["pynvml.py"]
    # Nothing of the machine that built it.
    everything = b"".join(contents.values())
    assert not re.search(rb"/(?:home|Users)/[a-z]|" + re.escape(os.fsencode(ROOT)) + rb"/", everything)


@pytest.mark.skipif(os.name != "posix", reason="a shebang")
def test_it_runs_as_a_program(zipapp: Path, tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(Path(sys.executable).resolve())
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    completed = subprocess.run(
        [str(zipapp), "--version"], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert re.fullmatch(r"gonogo-collect \d+\.\d+.*\n", completed.stdout)
    assert (completed.returncode, completed.stderr) == (0, "")


# -- every Python -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", SUPPORTED)
def test_its_facts_are_facts(version: str, collected: Collect, gonogo: Callable[..., Any], tmp_path: Path) -> None:
    completed = collected(interpreter(version))
    assert (completed.returncode, completed.stderr) == (0, "")
    facts = decode(json.loads(completed.stdout))
    outcomes = {run.name: run.outcome for run in facts.collectors}
    assert set(outcomes) == set(codec.section_names()) - {"updates"}
    assert {outcomes[name] for name in EVERYWHERE} == {"ok"}
    assert not set(outcomes.values()) & {"failed", "timed_out"}
    assert facts.sections["identity"].system == os.uname().sysname
    (tmp_path / "facts.json").write_text(completed.stdout)
    judged = gonogo("check", "--format", "json", "--facts", str(tmp_path / "facts.json"))
    assert judged.returncode in (0, 1)
    assert json.loads(judged.stdout)["findings"]


@pytest.mark.parametrize("version", SUPPORTED)
def test_it_brings_its_own_nvml_binding(version: str, collected: Collect, tmp_path: Path) -> None:
    completed = collected(interpreter(version), LD_LIBRARY_PATH=str(build(tmp_path / "nvml", "gb10.c")))
    assert (completed.returncode, completed.stderr) == (0, "")
    gpu = json.loads(completed.stdout)["sections"]["gpu"]
    assert (gpu["source"], gpu["devices"][0]["name"]) == ("nvml", "NVIDIA GB10")


@pytest.mark.parametrize("version", SUPPORTED)
def test_its_raw_record_replays(version: str, collected: Collect, gonogo: Callable[..., Any], tmp_path: Path) -> None:
    record = tmp_path / "raw.json"
    completed = collected(interpreter(version), "--raw", "--output", str(record))
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, "", "")
    judged = gonogo("check", "--format", "json", "-v", "--facts", str(record))
    outcomes = {run["name"]: run["outcome"] for run in json.loads(judged.stdout)["collectors"] if run["name"] != "gpu"}
    assert {outcomes[name] for name in EVERYWHERE} == {"ok"}
    assert not set(outcomes.values()) & {"failed", "timed_out", "not_collected"}


@pytest.mark.parametrize("version", TOO_OLD)
def test_an_old_python_is_told_so_in_one_line(version: str, collected: Collect) -> None:
    completed = collected(interpreter(version))
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr == f"gonogo-collect needs Python 3.8 or later, this is {version}\n"


# -- its options ------------------------------------------------------------------------------------------------------


def test_an_output_that_cannot_be_written(collected: Collect, tmp_path: Path) -> None:
    completed = collected(sys.executable, "--output", str(tmp_path / "none" / "facts.json"))
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr == "gonogo-collect: cannot write: No such file or directory\n"  # strerror(ENOENT)


def test_an_unknown_option(collected: Collect) -> None:
    completed = collected(sys.executable, "--no-such-option")
    assert (completed.returncode, completed.stdout) == (2, "")
    assert "Traceback" not in completed.stderr


def test_the_interpreter_to_read(collected: Collect) -> None:
    completed = collected(sys.executable, "--python", sys.executable)
    python = json.loads(completed.stdout)["sections"]["python"]
    assert (python["origin"], python["start"]) == ("--python", True)


def test_a_reader_that_has_gone(zipapp: Path) -> None:
    completed = subprocess.run(
        ["/bin/sh", "-c", '"$0" "$1" | head -c 1 > /dev/null', sys.executable, str(zipapp)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in completed.stderr
