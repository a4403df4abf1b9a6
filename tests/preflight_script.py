"""Shared by the tests of the skill's ``assets/preflight.sh``: a small made-up machine, and the grammar of its answer.

``Box`` is a folder with a PATH of its own: links to the tools that the script may use, and stand-ins that a test
writes. Nothing of the tester's environment is in it: no python3, no nvidia-smi and no gonogo unless a test says so.
"""

from __future__ import annotations

import functools
import os
import re
import resource
import shutil
import signal
import subprocess
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import BASE_PYTHON, running_as_root

ROOT = Path(__file__).resolve().parent.parent
SKILL = ROOT / "skills" / "spark-training-gotchas"
SCRIPT = SKILL / "assets" / "preflight.sh"
BASH = shutil.which("bash") or "/bin/bash"

#: What the script may use: bash, grep, sed, awk and the coreutils.
TOOLS = (
    *(
        "bash",
        "grep",
        "sed",
        "awk",
        "timeout",
        "basename",
        "cat",
        "cut",
        "dirname",
        "env",
        "head",
        "id",
        "ls",
        "mktemp",
    ),
    *("readlink", "realpath", "rm", "seq", "sort", "stat", "tail", "tee", "tr", "uname", "uniq", "wc"),
)

NUMBERS = [f"G{number}" for number in range(1, 11)]
LINE = re.compile(r"(G\d+) (PASS|FAIL|WARN|INFO|SKIP|UNKNOWN): (\S.*)")

#: GPU rows as ``nvidia-smi --query-gpu=temperature.gpu,power.draw,compute_cap --format=csv,noheader`` prints them.
GB10 = "36, 3.10 W, 12.1"
H200 = "37, 80.27 W, 9.0"
#: nvidia-smi's own words, on standard output, with status 9 (NVML_ERROR_DRIVER_NOT_LOADED).
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)

# Some stand-ins crash: no core files.
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

Completed = subprocess.CompletedProcess[str]


class Said(NamedTuple):
    """One line of the answer."""

    status: str
    message: str


class Box:
    """A made-up machine below ``folder``; ``run`` runs the script on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin, self.work, self.packages = folder / "bin", folder / "work", folder / "packages"
        for made in (self.bin, self.work, self.packages, folder / "home", folder / "scratch"):
            made.mkdir(parents=True)
        for tool in TOOLS:
            found = shutil.which(tool)
            if found is None:
                pytest.skip(f"no {tool} here")
            (self.bin / tool).symlink_to(found)
        self.script = SCRIPT

    # -- what is on it ------------------------------------------------------------------------------------------------

    def program(self, name: str, body: str) -> Path:
        """A stand-in on PATH, in bash."""
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{BASH}\n{body}\n")
        path.chmod(0o755)
        return path

    def python(self, options: str = "-S") -> None:
        """The real interpreter as python3; -S leaves out whatever is installed for it, PYTHONPATH stays."""
        self.program("python3", f'exec "{BASE_PYTHON}" {options} "$@"')

    def torch(self, version: str = "2.9.1+cu130", cuda: str | None = "13.0", before: str = "", hip: str = "") -> None:
        """python3 with a torch that is a few lines of Python; ``before`` runs at its import."""
        self.python()
        package = self.packages / "torch"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text(f"{before}\nfrom . import version\n__version__ = version.__version__\n")
        (package / "version.py").write_text(f"__version__ = {version!r}\ncuda = {cuda!r}\nhip = {hip or None!r}\n")

    def nvidia_smi(self, output: str, status: int = 0, errors: str = "") -> None:
        """A stand-in that prints ``output`` whatever it is asked, ``errors`` before it on standard error."""
        (self.folder / "smi-output").write_text(output)
        (self.folder / "smi-errors").write_text(errors)
        folder = self.folder
        self.program("nvidia-smi", f'cat "{folder}/smi-errors" >&2\ncat "{folder}/smi-output"\nexit {status}')

    def quick(self, seconds: int = 2) -> None:
        """Run a copy of the script whose time limits are ``seconds``."""
        text, count = re.subn(r"\brun \d+ (?=[\w\"])", f"run {seconds} ", self.script.read_text())
        assert count >= 4, "the script's time limits are written otherwise than this expects"
        self.script = self.folder / "quick.sh"
        self.script.write_text(text)

    def file(self, name: str, text: str) -> Path:
        """A file below the working folder."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    # -- running it ---------------------------------------------------------------------------------------------------

    def environment(self, env: dict[str, str | None] | None = None) -> dict[str, str]:
        """The variables the script sees; those that are None in ``env`` are taken away."""
        full: dict[str, str | None] = {
            "PATH": str(self.bin),
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "scratch"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(self.packages),
            "PYTHONDONTWRITEBYTECODE": "1",
            **(env or {}),
        }
        return {name: value for name, value in full.items() if value is not None}

    def command(self, *arguments: str) -> list[str]:
        return [BASH, "--noprofile", "--norc", str(self.script), *arguments]

    def run(self, *arguments: str, env: dict[str, str | None] | None = None, **options: Any) -> Completed:
        """Run the script. One that does not end within ``limit`` seconds is a failed test, and is killed."""
        command = options.pop("command", None) or self.command(*arguments)
        given, limit = options.pop("input", ""), options.pop("limit", 60)
        options = {"cwd": self.work, "env": self.environment(env), **options}
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogateescape",
            start_new_session=True,
            **options,
        ) as process:
            try:
                out, errors = process.communicate(given, timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                pytest.fail(f"no end after {limit} s: {command}")
        return subprocess.CompletedProcess(command, process.returncode, out, errors)

    def lines(self, *arguments: str, status: int = 0, **options: Any) -> dict[str, Said]:
        """Run the script, expect exit ``status``, and return what it said of each gotcha."""
        completed = self.run(*arguments, **options)
        assert completed.returncode == status, completed
        return said(completed)


def said(completed: Completed) -> dict[str, Said]:
    """The ten lines. Fails when they are not exactly ten in order by the grammar, or hold control characters."""
    assert completed.stdout.endswith("\n"), completed
    lines = completed.stdout[:-1].split("\n")
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), completed
    assert [match.group(1) for match in found if match] == NUMBERS, completed
    assert not [c for line in lines for c in line if unicodedata.category(c) == "Cc"], completed
    return {match.group(1): Said(match.group(2), match.group(3)) for match in found if match}


def refused(completed: Completed) -> str:
    """The one line on standard error of a call that cannot be carried out."""
    assert (completed.returncode, completed.stdout) == (2, ""), completed
    assert re.fullmatch(r"preflight\.sh: [^\n]+\n", completed.stderr), completed
    return completed.stderr


# -- a whole machine --------------------------------------------------------------------------------------------------

#: New root folder, box, interpreter's folder; then the command. Everything goes away with the namespace.
SETUP = """
set -e
new=$1 box=$2 python=$3 user=$4
shift 4
mount -t tmpfs -o mode=755 tmpfs "$new"
for entry in /usr /bin /sbin /lib* /dev /etc/alternatives; do
  if [ -L "$entry" ]; then cp -P "$entry" "$new$entry"
  elif [ -d "$entry" ]; then mkdir -p "$new$entry"; mount --rbind "$entry" "$new$entry"
  fi
done
cp -R "$box/machine/." "$new/"
for entry in "$box" "$python"; do
  case $entry in /usr*) continue ;; esac
  mkdir -p "$new$entry"
  mount --bind "$entry" "$new$entry"
done
mkdir -p "$new/tmp"
cd "$new"
exec chroot $user "$new" "$@"
"""


@functools.cache
def namespace() -> tuple[str, ...]:
    """The command that makes a mount namespace here, or nothing."""
    for command in (("unshare", "-m"), ("unshare", "-rm")):
        if not shutil.which("unshare") or (command[1] == "-m" and not running_as_root()):
            continue
        trial = [*command, "sh", "-c", "mount -t tmpfs none /tmp && chroot / true"]
        if subprocess.run(trial, capture_output=True, check=False).returncode == 0:
            return command
    return ()


class Machine:
    """A whole machine: a root folder of its own with the host's programs, and the files that a test writes into it.

    It runs in a mount namespace, which needs root or user namespaces. It begins as a machine without GPU or marker.
    """

    def __init__(self, folder: Path) -> None:
        if not namespace():
            pytest.skip("a mount namespace is refused here")
        folder.chmod(0o755)
        self.box = Box(folder / "box")
        self.box.script = Path(shutil.copy(SCRIPT, self.box.folder))
        self.file("proc/meminfo", "MemTotal:   131072000 kB\nMemFree:   1000 kB\nMemAvailable:   65536000 kB\n")
        self.file("proc/1/cgroup", "0::/init.scope\n")
        self.file("proc/self/mountinfo", mountinfo("ext4", "/dev/nvme0n1p2"))

    def without(self, name: str) -> None:
        (self.box.folder / "machine" / name).unlink()

    def pci(self, *devices: tuple[str, str]) -> None:
        """PCI devices: vendor and device id."""
        for index, (vendor, device) in enumerate(devices):
            self.file(f"sys/bus/pci/devices/000{index}:01:00.0/vendor", f"0x{vendor}\n")
            self.file(f"sys/bus/pci/devices/000{index}:01:00.0/device", f"0x{device}\n")

    def file(self, name: str, text: str) -> None:
        path = self.box.folder / "machine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def lines(self, *arguments: str, status: int = 0, user: str = "", **options: Any) -> dict[str, Said]:
        folder = self.box.folder
        root = folder.parent / "root"
        root.mkdir(exist_ok=True)
        inside = ["env", "-C", str(self.box.work), *self.box.command(*arguments)]
        setup = ["bash", "-c", SETUP, "setup", str(root), str(folder), str(BASE_PYTHON.parent.parent), user]
        env = self.box.environment(options.pop("env", None))
        # The tools that set up the root are the host's; the script's PATH is the box's.
        inside = ["/usr/bin/env", f"PATH={env['PATH']}", *inside]
        env["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
        completed = self.box.run(command=[*namespace(), *setup, *inside], env=env, **options)
        assert completed.returncode == status, completed
        return said(completed)


def mountinfo(kind: str, source: str, subtree: str = "/", injected: tuple[str, ...] = ()) -> str:
    """proc(5): fields 4 and 5 are the part that is mounted and where, behind the dash type and source."""
    rows = [f"22 1 259:2 {subtree} / rw,relatime shared:1 - {kind} {source} rw", "23 22 0:21 / /proc rw - proc proc rw"]
    rows += [f"{40 + i} 22 259:2 /x{i} {path} rw - ext4 /dev/nvme0n1p2 rw" for i, path in enumerate(injected)]
    return "\n".join(rows) + "\n"
