"""Shared by all tests: the command as a user calls it, environments made by hand, a healthy Spark as facts."""

from __future__ import annotations

import copy
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gonogo as package

#: An interpreter without site-packages of a virtual environment; linked into made-up environments.
BASE_PYTHON = Path(sys.executable).resolve()
#: The folder from which this gonogo is imported.
SOURCE = Path(package.__file__).resolve().parent.parent
#: The user and group of that name on every Linux.
NOBODY = 65534

Completed = subprocess.CompletedProcess[str]


@pytest.fixture
def gonogo(tmp_path: Path) -> Callable[..., Completed]:
    """Run ``gonogo ARGUMENTS`` as a process of its own, with an environment that holds nothing of the tester's.

    ``env`` adds variables, and takes away those that are None. PATH holds one python3 without torch and the system's
    programs. ``shell`` is a line in which "$@" is the command. Other options go to subprocess.run.
    """
    home, programs = tmp_path / "home", tmp_path / "programs"
    for folder in (home, programs):
        folder.mkdir()
    (programs / "python3").symlink_to(BASE_PYTHON)

    def run(*arguments: str, env: dict[str, str | None] | None = None, shell: str = "", **options: Any) -> Completed:
        full = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", **(env or {})}
        if "stdin" not in options:
            options.setdefault("input", "")
        if "stdout" not in options and "stderr" not in options:
            options.setdefault("capture_output", True)
        command = [options.pop("python", sys.executable), "-m", "gonogo", *arguments]
        return subprocess.run(
            ["/bin/sh", "-c", shell, "sh", *command] if shell else command,
            env={name: value for name, value in full.items() if value is not None},
            cwd=options.pop("cwd", home),
            encoding="utf-8",
            errors="surrogateescape",
            timeout=options.pop("timeout", 60),
            check=False,
            **options,
        )

    return run


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Path]:
    """Make a virtual environment by hand, with files that look like torch's; the folder is returned.

    Importing this torch ends the interpreter: no check may do so.
    """

    def make(
        name: str = "training",
        torch: str | None = "2.9.1+cu130",
        cuda: str | None = "13.0",
        machine: str | None = None,
        base: Path = BASE_PYTHON,
    ) -> Path:
        folder = tmp_path / name  # an absolute name stays where it is
        version = subprocess.check_output([base, "-c", "import platform as p; print(p.python_version())"], text=True)
        packages = folder / "lib" / "python{}.{}".format(*version.split(".")) / "site-packages"
        packages.mkdir(parents=True)
        (folder / "bin").mkdir()
        for link in ("python", "python3"):
            (folder / "bin" / link).symlink_to(base)
        (folder / "pyvenv.cfg").write_text(
            f"home = {base.parent}\ninclude-system-site-packages = false\nversion = {version}"
        )
        if torch is not None:
            fake_torch(packages, torch, cuda, machine or platform.machine())
        return folder

    return make


def fake_torch(packages: Path, version: str, cuda: str | None, machine: str) -> None:
    """The files of torch that gonogo reads, below ``packages``, with the libcudart that they need."""
    torch = packages / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "__init__.py").write_text("import os\nos.abort()\n")
    (torch / "version.py").write_text(f"__version__ = {version!r}\ncuda: str | None = {cuda!r}\nhip = None\n")
    (torch / f"_C.cpython-{sys.version_info[0]}{sys.version_info[1]}-{machine}-linux-gnu.so").touch()
    (packages / f"torch-{version}.dist-info").mkdir()
    if cuda:
        (torch / "lib" / f"libcudart.so.{cuda.partition('.')[0]}").touch()


@pytest.fixture
def spark() -> Callable[..., dict[str, Any]]:
    """A facts document of a healthy Spark with a fitting torch, whose verdict is go.

    Each keyword is a section: a dict changes members of it (None takes one away), None leaves the section out.
    """

    def document(**changes: dict[str, Any] | None) -> dict[str, Any]:
        sections = copy.deepcopy(HEALTHY_SPARK)
        for name, change in changes.items():
            if change is None:
                del sections[name]
                continue
            sections[name] = {**sections.get(name, {}), **change}
            sections[name] = {key: value for key, value in sections[name].items() if value is not None}
        return {"schema": "gonogo/facts", "schema_version": 2, "sections": sections}

    return document


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Any], str]:
    """Write a document as JSON into a new file and return its path."""
    count = iter(range(1000))

    def write(document: Any) -> str:
        path = tmp_path / f"facts{next(count)}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def somebody(gonogo: Callable[..., Completed]) -> Iterator[Callable[..., Completed]]:
    """Run gonogo as a user who is not root: ``run(*arguments, cwd=...)`` as in the fixture ``gonogo``.

    ``run.folder`` is a folder that this user can reach, and owns. Skips where no interpreter is within such a user's
    reach: root's own home is closed to others.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python, options = sys.executable, {}
        if running_as_root():
            folder.chmod(0o755)
            os.chown(folder, NOBODY, NOBODY)
            options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            python = _python_for_everybody(options)
        variables = {"PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1", "HOME": name}

        def run(*arguments: str, env: dict[str, str | None] | None = None, **more: Any) -> Completed:
            full = {**options, "python": python, "cwd": folder, **more}
            return gonogo(*arguments, env={**variables, **(env or {})}, **full)

        run.folder = folder  # type: ignore[attr-defined]
        yield run


def _python_for_everybody(options: dict[str, Any]) -> str:
    code = "import sys, gonogo; sys.exit(sys.version_info < (3, 10))"
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            trial = subprocess.run(
                [candidate, "-c", code], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, check=False, **options
            )
        except OSError:
            continue
        if trial.returncode == 0:
            return candidate
    pytest.skip("no Python 3.10 or later and no gonogo that every user can read")


def running_as_root() -> bool:
    """Root reads and writes everything, so that what is forbidden has to be tried as somebody else."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


NOT_SUPPORTED = {"missing": "not_supported"}
NOT_FOUND = {"missing": "not_found"}

HEALTHY_SPARK: dict[str, Any] = {
    "container": {"markers": ["/.dockerenv"], "cgroup": "0::/docker/0123\n", "root_filesystem": "overlay"},
    "cuda": {"loadable": [], "registered": []},
    "driver": {"kernel_module_version": "580.95.05", "libcuda_version": "580.95.05", "device_nodes": True},
    "gpu": {
        "source": "nvml",
        "driver_version": "580.95.05",
        "cuda_version": "13.0",
        "devices": [
            {
                "device_index": 0,
                "name": "NVIDIA GB10",
                "pci_device_id": "10de:2e12",
                "compute_capability": "12.1",
                "memory_total_bytes": NOT_SUPPORTED,
                "memory_free_bytes": NOT_SUPPORTED,
                "memory_used_bytes": NOT_SUPPORTED,
                "power_watts": 4.2,
                "temperature_celsius": 41,
                "clock_sm_mhz": 208,
                "clock_sm_max_mhz": 3003,
                "utilization_gpu_percent": 0,
                "performance_state": 8,
                "event_reasons_active": ["gpu_idle"],
                "processes": [],
            }
        ],
    },
    "identity": {
        "system": "Linux",
        "machine": "aarch64",
        "kernel_release": "6.14.0-1015-nvidia",
        "nvidia_pci_devices": [
            {"address": "000f:01:00.0", "vendor_id": "10de", "device_id": "2e12", "class_code": "030000"}
        ],
    },
    "memory": {"total_bytes": 121 << 30, "available_bytes": 100 << 30, "swap_total_bytes": 0, "swap_free_bytes": 0},
    "python": {
        "executable": "/opt/training/bin/python",
        "origin": "VIRTUAL_ENV",
        "start": True,
        "version": "3.12.3",
        "machine": "aarch64",
        "prefix": "/opt/training",
        "user_site": {"missing": "not_found"},
        "search_path": ["/opt/training/lib/python3.12/site-packages"],
        "distributions": [
            {"name": "torch", "version": "2.9.1+cu130", "folder": "/opt/training/lib/python3.12/site-packages"}
        ],
        "torch": {
            "folder": "/opt/training/lib/python3.12/site-packages/torch",
            "version": "2.9.1+cu130",
            "cuda": "13.0",
            "hip": {"missing": "not_found"},
            "machine": "aarch64",
        },
        "cuda_libraries": [
            {"name": "libcudart.so.13", "path": "/opt/training/lib/nvidia/cu13/lib/libcudart.so.13", "found_by": "x"}
        ],
        "constraint_file": {"missing": "not_found"},
        "constraints": {"missing": "not_found"},
    },
    "boots": {"recent": [{"started_unix_seconds": 1795950000, "ending": "running"}], "saved_crash_files": []},
    "engine": {"docker": NOT_FOUND, "podman": NOT_FOUND},
    "launch": {"variables": {}},
    "measurements": {"bandwidth": []},
    "network": {"interfaces": [], "rdma_devices": []},
    "processes": {"host_namespace": True, "hidden_from_us": False, "complete": True, "found": []},
    "software": {"packages": {}, "unfinished_packages": {}},
    "storage": {
        "places": [
            {
                "purpose": "models",
                "path": "/opt/models",
                "filesystem": 1,
                "total_bytes": 4398046511104,
                "available_bytes": 2199023255552,
            }
        ]
    },
    "updates": {"ota_check": NOT_FOUND, "firmware": NOT_FOUND},
}
