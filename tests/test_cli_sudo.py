"""``sudo gonogo check`` judges the environment of the user who called it, and runs its interpreter as that user.

The user, its right to sudo and sudo's PATH exist in a mount namespace of the test alone: copies of the account files
lie over the real ones for the time of one command, and nothing of the machine is changed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

USER, NUMBER = "gonogotester", 54321
SYSTEM_PYTHON = Path("/usr/bin/python3")

NEEDED = ("sudo", "unshare", "setpriv", "mount")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or any(shutil.which(name) is None for name in NEEDED),
    reason=f"needs root and {', '.join(NEEDED)}",
)


class Account(NamedTuple):
    """A user of this machine as far as ``run`` shows it."""

    home: Path
    run: Callable[[str], str]


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    if not SYSTEM_PYTHON.exists():
        pytest.skip("needs a python3 that every user can run")
    files = tmp_path / "etc"
    files.mkdir()
    # What sudo calls: a command on its own PATH, which the calling user's PATH does not change.
    programs = tmp_path / "sbin"
    programs.mkdir()
    program = programs / "gonogo"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gonogo "$@"\n')
    program.chmod(0o755)
    lines = {
        "passwd": Path("/etc/passwd").read_text() + f"{USER}:x:{NUMBER}:{NUMBER}::/nowhere:/bin/sh\n",
        "group": Path("/etc/group").read_text() + f"{USER}:x:{NUMBER}:\n",
        "shadow": f"root:*:19000:0:99999:7:::\n{USER}:*:19000:0:99999:7:::\n",
        "sudoers": "Defaults env_reset, !authenticate, !requiretty\n"
        f'Defaults secure_path="{programs}:/usr/bin:/bin"\n'
        f"root ALL=(ALL:ALL) ALL\n{USER} ALL=(ALL:ALL) NOPASSWD: ALL\n",
    }
    mounts = []
    for name, text in lines.items():
        (files / name).write_text(text)
        (files / name).chmod(0o440 if name in ("shadow", "sudoers") else 0o644)
        mounts.append(f"mount --bind {files / name} /etc/{name}")

    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        os.chown(home, NUMBER, NUMBER)

        def run(line: str) -> str:
            """The output of a shell line of this user, whose home is its working folder."""
            become = f"setpriv --reuid {NUMBER} --regid {NUMBER} --clear-groups"
            script = f'{" && ".join(mounts)} && cd {home} && exec {become} /bin/sh -c "$0"'
            completed = subprocess.run(
                ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, line],
                env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": name, "USER": USER, "LOGNAME": USER},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert "Traceback" not in completed.stderr
            return completed.stdout or pytest.fail(completed.stderr)

        try:
            allowed = run("sudo -n id -u; true") == "0\n"
        except pytest.fail.Exception:
            allowed = False
        if not allowed:
            pytest.skip("no mount namespaces or no working sudo here")
        yield Account(home, run)


def check_of(text: str) -> dict[str, Any]:
    result = json.loads(text)
    return {**result["environment"], "codes": {item["code"]: item["message"] for item in result["findings"]}}


def test_the_active_environment_of_the_caller(account: Account, environment: Callable[..., Path]) -> None:
    folder = environment(str(account.home / "training"), base=SYSTEM_PYTHON)
    # What activate does, as far as it is inherited.
    activate = f'export VIRTUAL_ENV={folder} PATH="{folder}/bin:$PATH"; '
    found = check_of(account.run(activate + "sudo -n gonogo check --format json --fail-on never"))
    assert (found["python"], found["origin"], found["torch"]) == (
        f"{folder}/bin/python",
        "VIRTUAL_ENV",
        "2.9.1+cu130",
    )


def test_the_path_of_the_caller_and_not_that_of_sudo(account: Account, environment: Callable[..., Path]) -> None:
    folder = environment(str(account.home / "training"), base=SYSTEM_PYTHON)
    found = check_of(account.run(f'PATH="{folder}/bin:$PATH" sudo -n gonogo check --format json --fail-on never'))
    assert (found["python"], found["origin"]) == (f"{folder}/bin/python3", "python3 on PATH")


def test_the_interpreter_runs_as_the_caller(account: Account, environment: Callable[..., Path]) -> None:
    # The user's own site hooks run when the interpreter starts: never as root.
    folder = environment(str(account.home / "training"), base=SYSTEM_PYTHON)
    packages = next(folder.glob("lib/python*/site-packages"))
    hook = "import os, sys; sys.stderr.write('%s %s %s' % (os.getuid(), os.getgid(), os.getgroups()))\n"
    (packages / "who.pth").write_text(hook)
    for call in ("sudo -n gonogo", "sudo -n sh -c 'gonogo \"$@\"; true' sh"):
        found = check_of(account.run(f"export VIRTUAL_ENV={folder}; {call} check --format json --fail-on never"))
        assert f"{NUMBER} {NUMBER} [{NUMBER}]" in found["codes"]["G9.startup-noise"], call


def test_a_command_named_by_the_caller_is_looked_up_on_the_callers_path(
    account: Account, environment: Callable[..., Path]
) -> None:
    folder = environment(str(account.home / "training"), base=SYSTEM_PYTHON)
    (folder / "bin" / "python-of-mine").symlink_to(SYSTEM_PYTHON)
    line = f'PATH="{folder}/bin:$PATH" sudo -n gonogo check --python python-of-mine --format json --fail-on never'
    found = check_of(account.run(line))
    assert (found["python"], found["origin"]) == (f"{folder}/bin/python-of-mine", "--python")


def test_preserved_variables_win(account: Account, environment: Callable[..., Path]) -> None:
    one = environment(str(account.home / "one"), base=SYSTEM_PYTHON)
    two = environment(str(account.home / "two"), base=SYSTEM_PYTHON)
    line = f"export VIRTUAL_ENV={one}; sudo -n VIRTUAL_ENV={two} gonogo check --format json --fail-on never"
    assert check_of(account.run(line))["python"] == f"{two}/bin/python"


def test_the_record_under_sudo_hides_the_caller(account: Account, environment: Callable[..., Path]) -> None:
    folder = environment(str(account.home / USER / "training"), base=SYSTEM_PYTHON)
    text = account.run(f"export VIRTUAL_ENV={folder}; sudo -n gonogo record")
    assert USER not in text
    assert "/training/bin/python" in text
