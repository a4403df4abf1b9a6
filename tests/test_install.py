"""Installed as users install it: built, by pip into a training environment, by pipx and uvx beside it.

docs/contract.md: the isolated environment that pipx or uvx made for gonogo is passed over; a training environment
that gonogo was pip-installed into is judged.
"""

from __future__ import annotations

import email
import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import gonogo

PROJECT = Path(__file__).resolve().parent.parent
BASE_PYTHON = Path(sys.executable).resolve()
VERSION = gonogo.__version__

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="installed on Linux")


def outer_environment(**changes: str | None) -> dict[str, str]:
    """The tester's own variables, for the index and its certificates, less those that name an environment."""
    dropped = ("VIRTUAL_ENV", "CONDA_PREFIX", "PIPX_HOME", "UV_PYTHON", "PYTHONPATH", "PYTHONHOME", "NO_COLOR")
    kept: dict[str, str | None] = {key: value for key, value in os.environ.items() if key not in dropped}
    return {key: value for key, value in {**kept, **changes}.items() if value is not None}


def succeed(command: list[str], **options: Any) -> str:
    options.setdefault("env", outer_environment())
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, **options)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("install")


@pytest.fixture(scope="module")
def online(folder: Path) -> None:
    """Skips where pip reaches no index."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "0", "hatchling"]
    completed = subprocess.run(
        [*command, "--dest", str(folder / "online")], env=outer_environment(), capture_output=True, check=False
    )
    if completed.returncode != 0:
        pytest.skip("no package index within reach")


class Built(NamedTuple):
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(folder: Path, online: None) -> Built:
    """Source archive, and the wheel made from that archive."""
    # From a copy: the build writes the catalogue into the tree, and other tests are reading it.
    copy = folder / "project"
    names = ("src", "docs", "tests", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE", ".gitignore")
    leave = shutil.ignore_patterns("__pycache__", "_catalogue.py", "_signatures.py")
    for name in names:
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, copy / name, ignore=leave)
        else:
            copy.mkdir(exist_ok=True)
            shutil.copy(PROJECT / name, copy / name)
    succeed([sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(copy)])
    return Built(next((folder / "dist").glob("*.whl")), next((folder / "dist").glob("*.tar.gz")))


# -- what is in the archives ------------------------------------------------------------------------------------------


def test_the_wheel_holds_what_it_needs_and_no_more(built: Built) -> None:
    assert built.wheel.name == f"gonogo-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(built.wheel) as wheel:
        names = set(wheel.namelist())
    source = {
        path.relative_to(PROJECT / "src").as_posix()
        for path in (PROJECT / "src" / "gonogo").rglob("*")
        if path.is_file() and path.suffix in (".py", ".toml", ".json", ".typed", ".md", ".sh")
    }
    code = {name for name in names if name.startswith("gonogo/")}
    assert code == source | {"gonogo/_catalogue.py", "gonogo/_signatures.py"}
    assert {"gonogo/py.typed", "gonogo/schemas/check.json", "gonogo/platforms/gb10.toml"} <= code
    assert "gonogo/gotchas/g01_cuda_abi/gotcha.toml" in code
    assert {name.partition("/")[0] for name in names} == {"gonogo", f"gonogo-{VERSION}.dist-info"}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_says_what_it_is(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        text = wheel.read(f"gonogo-{VERSION}.dist-info/METADATA").decode()
        scripts = wheel.read(f"gonogo-{VERSION}.dist-info/entry_points.txt").decode()
    metadata = email.message_from_string(text)
    assert (metadata["Name"], metadata["Version"], metadata["Requires-Python"]) == ("gonogo", VERSION, ">=3.10")
    # Into a training environment it must bring as little as possible, and never torch.
    required = {line.split(">")[0].split(";")[0].strip() for line in metadata.get_all("Requires-Dist", [])}
    assert required == {"ahocorasick-rs", "nvidia-ml-py", "tomli"}
    assert "gonogo = gonogo.cli:main" in scripts


def test_the_source_archive_can_be_built_from(built: Built) -> None:
    # The wheel was made from it; here, that nothing of this machine went in.
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "hatch_build.py", "LICENSE", "README.md", "src/gonogo/__init__.py"} <= names
    assert "tests/conftest.py" in names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".venv", ".git/", "dist"))]


# -- pip --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(folder: Path, built: Built) -> Path:
    """A training environment with a torch (by its files), into which gonogo was installed with pip."""
    target = folder / "training"
    venv.create(target, with_pip=True)
    succeed([str(target / "bin" / "python"), "-m", "pip", "install", "--quiet", str(built.wheel)])
    packages = next(target.glob("lib/python*/site-packages"))
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").write_text("import os\nos.abort()\n")
    (packages / "torch" / "version.py").write_text("__version__ = '2.9.1+cu130'\ncuda = '13.0'\n")
    return target


def judged(command: list[str], **options: Any) -> dict[str, Any]:
    """What ``check`` says of the environment that it judged."""
    completed = subprocess.run(
        [*command, "check", "--format", "json"], capture_output=True, text=True, check=False, timeout=500, **options
    )
    assert completed.returncode in (0, 1), completed.stderr
    return json.loads(completed.stdout)["environment"]


def test_a_training_environment_that_holds_gonogo_is_judged(installed: Path, tmp_path: Path) -> None:
    command = [str(installed / "bin" / "gonogo")]
    active = judged(command, cwd=tmp_path, env=outer_environment(VIRTUAL_ENV=str(installed)))
    assert (active["python"], active["origin"]) == (f"{installed}/bin/python", "VIRTUAL_ENV")
    assert active["torch"] == "2.9.1+cu130"
    # Not activated, only first on PATH, as a service or a Dockerfile does it.
    path = f"{installed}/bin:/usr/bin:/bin"
    on_path = judged(command, cwd=tmp_path, env=outer_environment(PATH=path))
    assert (on_path["python"], on_path["origin"]) == (f"{installed}/bin/python3", "python3 on PATH")
    assert on_path["torch"] == "2.9.1+cu130"


def test_the_installed_catalogue_is_the_generated_one(installed: Path, tmp_path: Path) -> None:
    code = "from gonogo import _catalogue, _signatures, catalogue_source as s; "
    code += "print(_catalogue.DATA == s.read() and _signatures.DATA == s.read_signatures())"
    assert succeed([str(installed / "bin" / "python"), "-c", code], cwd=tmp_path) == "True\n"
    assert succeed([str(installed / "bin" / "gonogo"), "--version"], cwd=tmp_path) == f"gonogo {VERSION}\n"
    assert json.loads(succeed([str(installed / "bin" / "gonogo"), "schema", "check"], cwd=tmp_path))


# -- pipx and uv ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tools(folder: Path, online: None) -> Path:
    venv.create(folder / "tools", with_pip=True)
    succeed([str(folder / "tools" / "bin" / "python"), "-m", "pip", "install", "--quiet", "pipx", "uv"])
    return folder / "tools" / "bin"


@pytest.fixture
def isolated(folder: Path, tools: Path, tmp_path: Path) -> dict[str, str | None]:
    """Variables for pipx and uv that keep everything below ``folder``; PATH holds one python3 without torch."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(BASE_PYTHON)
    return {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "PIPX_HOME": str(folder / "pipx"),
        "PIPX_BIN_DIR": str(folder / "pipx-bin"),
        "PIPX_DEFAULT_PYTHON": str(BASE_PYTHON),
        "UV_CACHE_DIR": str(folder / "uv-cache"),
        "UV_TOOL_DIR": str(folder / "uv-tools"),
        "UV_TOOL_BIN_DIR": str(folder / "uv-bin"),
        "UV_PYTHON": str(BASE_PYTHON),
        "UV_PYTHON_DOWNLOADS": "never",
    }


@pytest.mark.parametrize("way", ["pipx run", "pipx install", "uvx", "uv tool install"])
def test_the_environment_made_for_gonogo_is_passed_over(
    way: str, built: Built, tools: Path, isolated: dict[str, str | None], environment: Any, tmp_path: Path
) -> None:
    wheel = str(built.wheel)
    variables = outer_environment(**isolated)
    if way == "pipx run":
        command = [str(tools / "pipx"), "run", "--spec", wheel, "gonogo"]
    elif way == "uvx":
        command = [str(tools / "uvx"), "--from", wheel, "gonogo"]
    elif way == "pipx install":
        succeed([str(tools / "pipx"), "install", wheel], env=variables)
        command = [f"{isolated['PIPX_BIN_DIR']}/gonogo"]
    else:
        succeed([str(tools / "uv"), "tool", "install", wheel], env=variables)
        command = [f"{isolated['UV_TOOL_BIN_DIR']}/gonogo"]
    found = judged(command, cwd=tmp_path, env=variables)
    assert (found["python"], found["origin"]) == (f"{tmp_path}/programs/python3", "python3 on PATH")
    training = environment()
    found = judged(command, cwd=tmp_path, env=outer_environment(**isolated, VIRTUAL_ENV=str(training)))
    assert (found["python"], found["origin"]) == (f"{training}/bin/python", "VIRTUAL_ENV")
    assert found["torch"] == "2.9.1+cu130"
