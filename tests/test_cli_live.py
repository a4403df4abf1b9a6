"""``gonogo check`` on this machine, and the same machine from its own record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def has_nvidia_gpu() -> bool:
    vendors = Path("/sys/bus/pci/devices").glob("*/vendor")
    return (
        any(vendor.read_text().strip() == "0x10de" for vendor in vendors)
        or Path("/dev/nvidiactl").exists()
        or Path("/dev/dxg").exists()
        or shutil.which("nvidia-smi") is not None
    )


def outcome(completed: Any) -> tuple[list[tuple[str, str]], str]:
    """Codes with their statuses, and the verdict."""
    result = json.loads(completed.stdout)
    return [(item["code"], item["status"]) for item in result["findings"]], result["verdict"]


@pytest.mark.skipif(has_nvidia_gpu(), reason="this machine has an NVIDIA GPU")
def test_a_machine_without_a_gpu_is_no_go(gonogo: Callable[..., Any]) -> None:
    completed = gonogo("check", "--format", "json")
    result = json.loads(completed.stdout)
    assert completed.returncode == 1
    assert result["verdict"] == "no-go"
    assert "no NVIDIA GPU" in result["reasons"]
    assert result["platform"]["id"] == "none"
    assert gonogo("check", "--fail-on", "never").returncode == 0


@pytest.mark.skipif(has_nvidia_gpu(), reason="this machine has an NVIDIA GPU")
def test_as_if_on_a_spark(gonogo: Callable[..., Any], environment: Callable[..., Path]) -> None:
    cpu_only = environment(torch="2.9.1+cpu", cuda=None)
    completed = gonogo("check", "--format", "json", "--platform", "gb10", env={"VIRTUAL_ENV": str(cpu_only)})
    codes, verdict = outcome(completed)
    assert ("G12.cpu-only", "FAIL") in codes
    # No reading of whatever is in this machine passes for one of a GB10.
    assert [status for code, status in codes if code.startswith("G4.")] == ["SKIP"]
    assert (verdict, completed.returncode) == ("no-go", 1)
    result = json.loads(completed.stdout)
    assert (result["platform"]["id"], result["platform"]["assumed"]) == ("gb10", True)
    assert "no NVIDIA GPU" not in result["reasons"]


@pytest.mark.skipif(has_nvidia_gpu(), reason="this machine has an NVIDIA GPU")
def test_a_cpu_only_torch_where_there_is_no_gpu_is_no_fault(
    gonogo: Callable[..., Any], environment: Callable[..., Path]
) -> None:
    cpu_only = environment(torch="2.9.1+cpu", cuda=None)
    codes, _ = outcome(gonogo("check", "--format", "json", env={"VIRTUAL_ENV": str(cpu_only)}))
    assert ("G12.no-gpu", "INFO") in codes


def crashing(folder: Path) -> None:
    folder.joinpath("bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.write_text("#!/bin/sh\nkill -SEGV $$\n")
    python.chmod(0o755)


@pytest.mark.parametrize("story", ["torch", "no torch", "CPU torch", "in the home", "noise", "crash", "no Python"])
def test_a_record_gives_what_the_live_check_gives(
    gonogo: Callable[..., Any], environment: Callable[..., Path], tmp_path: Path, story: str
) -> None:
    if story == "crash":
        folder = tmp_path / "broken"
        crashing(folder)
    elif story == "CPU torch":
        folder = environment(torch="2.9.1", cuda=None)
    elif story == "in the home":  # its path is redacted in the record
        folder = environment("home/venv", torch="2.4.0+cu118", cuda="11.8")
    else:
        folder = environment(torch=None if story == "no torch" else "2.9.1+cu130")
    if story == "noise":
        packages = next(folder.glob("lib/python*/site-packages"))
        (packages / "hello.pth").write_text("import sys; sys.stderr.write('hello from a .pth file\\n')\n")
    variables: dict[str, str | None] = {"VIRTUAL_ENV": str(folder)}
    if story == "no Python":
        variables = {"PATH": "/nowhere"}

    live = gonogo("check", "--format", "json", env=variables)
    facts, raw = tmp_path / "facts.json", tmp_path / "raw.json"
    for path, options in ((facts, ()), (raw, ("--raw",))):
        recorded = gonogo("record", "--output", str(path), *options, env=variables)
        assert (recorded.returncode, recorded.stdout) == (0, "")
    # Replayed elsewhere: nothing of this environment is left to be read by mistake.
    elsewhere: dict[str, str | None] = {"PATH": "/nowhere", "HOME": None}
    for path in (facts, raw):
        replayed = gonogo("check", "--format", "json", "--facts", str(path), env=elsewhere)
        assert outcome(replayed) == outcome(live), path.name
        assert replayed.returncode == live.returncode
    if story in ("torch", "CPU torch"):
        assert json.loads(live.stdout)["environment"]["python"] == f"{folder}/bin/python"


def test_a_record_of_python_named_on_the_command_line(
    gonogo: Callable[..., Any], environment: Callable[..., Path], tmp_path: Path
) -> None:
    folder = environment(torch="2.9.1", cuda=None)
    path = tmp_path / "facts.json"
    assert gonogo("record", "--python", str(folder), "--output", str(path)).returncode == 0
    live = gonogo("check", "--format", "json", "--python", str(folder))
    assert outcome(gonogo("check", "--format", "json", "--facts", str(path))) == outcome(live)
    assert json.loads(live.stdout)["environment"]["origin"] == "--python"


# -- which environment ------------------------------------------------------------------------------------------------


def judged(completed: Any) -> tuple[str | None, str | None]:
    result = json.loads(completed.stdout)["environment"]
    return result["python"], result["origin"]


def test_the_order_of_the_contract(gonogo: Callable[..., Any], environment: Callable[..., Path]) -> None:
    named, active, conda = environment("named"), environment("active"), environment("conda")
    here = environment("project/.venv").parent
    variables: dict[str, str | None] = {"VIRTUAL_ENV": str(active), "CONDA_PREFIX": str(conda)}

    def run(*options: str) -> tuple[str | None, str | None]:
        return judged(gonogo("check", "--format", "json", *options, env=variables, cwd=here))

    assert run("--python", str(named)) == (f"{named}/bin/python", "--python")
    assert run("--python", f"{named}/bin/python3") == (f"{named}/bin/python3", "--python")
    assert run() == (f"{active}/bin/python", "VIRTUAL_ENV")
    variables["VIRTUAL_ENV"] = None
    assert run() == (f"{conda}/bin/python", "CONDA_PREFIX")
    variables["CONDA_PREFIX"] = None
    assert run() == (f"{here}/.venv/bin/python", "./.venv")
    shutil.rmtree(here / ".venv")
    python, origin = run()
    assert python is not None
    assert python.endswith("/programs/python3")
    assert origin == "python3 on PATH"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("kill -SEGV $$", "SIGSEGV"),
        ("exit 3", "exit status 3"),
        ("echo 'libpython3.12.so.1.0: cannot open shared object file' >&2; exit 127", "libpython3.12.so.1.0"),
        ("echo hello", "hello"),
    ],
)
def test_a_python_that_fails_is_a_finding(gonogo: Callable[..., Any], tmp_path: Path, body: str, words: str) -> None:
    python = tmp_path / "python3.12"
    python.write_text(f"#!/bin/sh\n{body}\n")
    python.chmod(0o755)
    completed = gonogo("check", "--format", "json", "--python", str(python))
    findings = {item["code"]: item for item in json.loads(completed.stdout)["findings"]}
    assert completed.returncode in (0, 1)
    assert findings["G1.environment-unreadable"]["status"] == "UNKNOWN"
    assert words in findings["G1.environment-unreadable"]["message"]
