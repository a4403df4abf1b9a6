"""Which interpreter is judged: the order of docs/contract.md, "Judged environment", on roots made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gonogo.node import interpreter
from gonogo.node.facts.missing import NOT_FOUND, Missing
from gonogo.node.interpreter import Choice, choose
from gonogo.node.ports.commands import Commands
from gonogo.node.ports.devices import Devices
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import Host

EVERYTHING = {"VIRTUAL_ENV": "/active", "CONDA_PREFIX": "/conda", "PATH": "relative:/first:/second/"}


@pytest.fixture
def machine(tmp_path: Path) -> Any:
    """Make a host below tmp_path with these files; ``own`` is the environment that gonogo itself runs in."""
    root = tmp_path.resolve()

    def make(*files: str, own: str = "/tools/gonogo", **changes: Any) -> Host:
        for path in files:
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        (root / own.lstrip("/")).mkdir(parents=True, exist_ok=True)
        fields = {"environment": EVERYTHING, "folder": "/project", "own_prefix": own, "user": 1000, **changes}
        return Host(files=Files(str(root)), commands=Commands(), devices=Devices(), **fields)

    return make


def chosen(host: Host) -> tuple[str, str]:
    choice = choose(host)
    assert isinstance(choice, Choice)
    return choice.executable, choice.origin


#: In the order in which they are asked.
ORDER = [
    ("/active/bin/python", "VIRTUAL_ENV"),
    ("/conda/bin/python", "CONDA_PREFIX"),
    ("/project/.venv/bin/python", "./.venv"),
    ("/first/python3", "python3 on PATH"),
    ("/second/python3", "python3 on PATH"),
]


@pytest.mark.parametrize("start", range(len(ORDER)))
def test_the_order(machine: Any, start: int) -> None:
    assert chosen(machine(*(path for path, _ in ORDER[start:]))) == ORDER[start]


def test_nothing_to_judge(machine: Any) -> None:
    answer = choose(machine())
    assert isinstance(answer, Missing) and answer.reason == NOT_FOUND
    # A folder of the name is no interpreter, and an empty environment no error.
    assert isinstance(choose(machine("/active/bin/python/file")), Missing)
    assert isinstance(choose(machine(environment={}, folder="")), Missing)


def test_a_slash_at_the_end_is_no_other_environment(machine: Any) -> None:
    host = machine("/active/bin/python", environment={"VIRTUAL_ENV": "/active/"})
    assert chosen(host) == ("/active/bin/python", "VIRTUAL_ENV")


# -- what --python names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "requested, executable",
    [
        ("/opt/bin/python3.12", "/opt/bin/python3.12"),
        ("/opt", "/opt/bin/python"),
        ("/opt/", "/opt/bin/python"),
        ("envs/a", "/project/envs/a/bin/python"),
        ("here", "/project/here/bin/python"),
        ("python3", "/first/python3"),
        ("./python", "/project/./python"),
        ("/nowhere/python", "/nowhere/python"),
    ],
)
def test_python_by_file_folder_or_command(machine: Any, requested: str, executable: str) -> None:
    host = machine(
        *("/opt/bin/python3.12", "/project/envs/a/bin/python", "/project/here/bin/python", "/project/python"),
        *(path for path, _ in ORDER),
        requested_python=requested,
    )
    assert chosen(host) == (executable, "--python")


def test_python_is_taken_at_its_word(machine: Any) -> None:
    # Even gonogo's own environment, when it is named.
    host = machine("/tools/gonogo/bin/python", "/tools/gonogo/pipx_metadata.json", requested_python="/tools/gonogo")
    assert chosen(host) == ("/tools/gonogo/bin/python", "--python")


# -- gonogo's own environment -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "own, receipt",
    [
        ("/home/u/.local/share/pipx/venvs/gonogo", "pipx_metadata.json"),
        ("/opt/anything", "pipx_metadata.json"),
        ("/home/u/.local/share/uv/tools/gonogo", "uv-receipt.toml"),
        ("/home/u/.cache/uv/archive-v0/wlXbMPAQ", None),
        ("/home/u/.cache/uv/environments-v2/gonogo-0123", None),
        ("/home/u/.cache/uv/builds-v0/.tmp1", None),
        ("/home/u/.local/share/pipx/.cache/0123", None),
        ("/home/u/.cache/pipx/0123", None),
    ],
)
def test_the_environment_that_pipx_or_uv_made_for_gonogo_is_passed_over(
    machine: Any, own: str, receipt: str | None
) -> None:
    files = [f"{own}/bin/python", "/second/python3", *([f"{own}/{receipt}"] if receipt else [])]
    environment = {"VIRTUAL_ENV": own, "PATH": f"{own}/bin:/second"}
    host = machine(*files, f"{own}/bin/python3", own=own, environment=environment)
    assert chosen(host) == ("/second/python3", "python3 on PATH")


def test_a_training_environment_that_gonogo_was_installed_into_is_judged(machine: Any) -> None:
    host = machine("/active/bin/python", "/second/python3", own="/active")
    assert chosen(host) == ("/active/bin/python", "VIRTUAL_ENV")


def test_somebody_elses_tool_environment_is_judged_when_it_is_active(machine: Any) -> None:
    host = machine("/active/bin/python", "/active/pipx_metadata.json", "/second/python3")
    assert chosen(host) == ("/active/bin/python", "VIRTUAL_ENV")


def test_the_venv_of_gonogos_own_checkout_is_passed_over(machine: Any) -> None:
    checkout = {"own": "/src/gonogo/.venv", "own_checkout": "/src/gonogo", "folder": "/src/gonogo"}
    environment = {"VIRTUAL_ENV": "/src/gonogo/.venv", "PATH": "/src/gonogo/.venv/bin:/second"}
    files = ("/src/gonogo/.venv/bin/python", "/src/gonogo/.venv/bin/python3", "/second/python3")
    host = machine(*files, **checkout, environment=environment)
    assert chosen(host) == ("/second/python3", "python3 on PATH")
    # Another environment of one who works on gonogo is nothing of gonogo's.
    active = machine("/active/bin/python", **checkout, environment={**environment, "VIRTUAL_ENV": "/active"})
    assert chosen(active) == ("/active/bin/python", "VIRTUAL_ENV")
    # A training environment into which the checkout is installed (pip install -e) is judged.
    editable = machine("/active/bin/python", **{**checkout, "own": "/active", "folder": "/project"})
    assert chosen(editable) == ("/active/bin/python", "VIRTUAL_ENV")


def test_a_link_to_gonogos_own_environment_is_passed_over(machine: Any, tmp_path: Path) -> None:
    host = machine("/own/bin/python", "/own/uv-receipt.toml", "/second/python3", own="/own")
    (tmp_path / "active").symlink_to("own")
    assert chosen(host) == ("/second/python3", "python3 on PATH")


# -- under sudo -------------------------------------------------------------------------------------------------------


@pytest.fixture
def sudo(machine: Any, tmp_path: Path) -> Any:
    """Root's gonogo: its parent is a shell, the shell's is sudo, whose environment still is the user's (proc(5))."""

    def make(*files: str, caller: str = "VIRTUAL_ENV=/active\0PATH=/first\0", **changes: Any) -> Host:
        own = {"PATH": "/usr/sbin:/usr/bin", "SUDO_UID": "1000", "SUDO_GID": "100", "SUDO_USER": "u", "HOME": "/root"}
        own.update(changes.pop("environment", {}))
        host = machine(*files, "/usr/bin/python3", environment=own, user=0, parent=300, folder="/", **changes)
        for pid, parent, comm, environ in (
            (300, 200, "bash", "SHLVL=1\0"),
            (200, 100, "sudo", caller),
            (100, 1, "sshd", "VIRTUAL_ENV=/wrong\0"),
        ):
            folder = tmp_path / "proc" / str(pid)
            folder.mkdir(parents=True)
            (folder / "comm").write_text(f"{comm}\n")
            (folder / "environ").write_text(environ)
            (folder / "status").write_text(f"Name:\t{comm}\nUmask:\t0022\nPid:\t{pid}\nPPid:\t{parent}\nUid:\t0\n")
        return host  # type: ignore[no-any-return]

    return make


def test_under_sudo_the_callers_environment_is_judged_as_the_caller(sudo: Any) -> None:
    caller = "VIRTUAL_ENV=/active\0HOME=/home/u\0PATH=/home/u/bin:/first\0SSH_AUTH_SOCK=/s\0PYTHONPATH=a=b\0odd\0"
    choice = choose(sudo("/active/bin/python", "/wrong/bin/python", caller=caller))
    assert isinstance(choice, Choice)
    assert (choice.executable, choice.origin) == ("/active/bin/python", "VIRTUAL_ENV")
    assert choice.user_and_group == (1000, 100)
    kept = {name: choice.environment.get(name) for name in ("PATH", "HOME", "PYTHONPATH", "SSH_AUTH_SOCK", "odd")}
    assert kept == {
        "PATH": "/home/u/bin:/first",
        "HOME": "/home/u",
        "PYTHONPATH": "a=b",
        "SSH_AUTH_SOCK": None,
        "odd": None,
    }


def test_under_sudo_the_callers_path_is_searched(sudo: Any) -> None:
    assert chosen(sudo("/first/python3", caller="PATH=/first\0")) == ("/first/python3", "python3 on PATH")


def test_what_was_given_to_sudo_itself_goes_first(sudo: Any) -> None:
    # sudo VIRTUAL_ENV=/other gonogo check
    host = sudo("/active/bin/python", "/other/bin/python", environment={"VIRTUAL_ENV": "/other"})
    assert chosen(host) == ("/other/bin/python", "VIRTUAL_ENV")


def test_without_sudos_process_the_own_environment_serves(machine: Any) -> None:
    environment = {"PATH": "/second", "SUDO_UID": "1000", "SUDO_GID": "1000"}
    choice = choose(machine("/second/python3", environment=environment, user=0, parent=300))
    assert isinstance(choice, Choice)
    assert (choice.executable, choice.user_and_group) == ("/second/python3", (1000, 1000))


@pytest.mark.parametrize(
    "ids", [{}, {"SUDO_UID": "1000"}, {"SUDO_UID": "x", "SUDO_GID": "1"}, {"SUDO_UID": "²", "SUDO_GID": "²"}]
)
def test_root_without_a_caller_is_root(machine: Any, ids: dict[str, str]) -> None:
    choice = choose(machine("/second/python3", environment={"PATH": "/second", **ids}, user=0, parent=1))
    assert isinstance(choice, Choice) and choice.user_and_group is None


def test_sudo_by_root_changes_no_user(sudo: Any) -> None:
    choice = choose(sudo("/active/bin/python", environment={"SUDO_UID": "0", "SUDO_GID": "0"}))
    assert isinstance(choice, Choice)
    assert (choice.executable, choice.user_and_group) == ("/active/bin/python", None)


def test_a_user_who_is_not_root_cannot_claim_another(sudo: Any) -> None:
    choice = choose(sudo("/active/bin/python")._replace(user=1000))
    assert isinstance(choice, Choice)
    assert (choice.executable, choice.user_and_group) == ("/usr/bin/python3", None)


@pytest.mark.parametrize("status", ["", "PPid:\tx\n", "PPid:\t300\n", "PPid:\t99999999999999999999\n"])
def test_a_chain_of_parents_that_leads_nowhere_ends(machine: Any, tmp_path: Path, status: str) -> None:
    environment = {"PATH": "/second", "SUDO_UID": "1000", "SUDO_GID": "1000"}
    host = machine("/second/python3", environment=environment, user=0, parent=300)
    (tmp_path / "proc/300").mkdir(parents=True)
    (tmp_path / "proc/300/status").write_text(status)
    assert chosen(host) == ("/second/python3", "python3 on PATH")


# -- the layout of a folder -------------------------------------------------------------------------------------------


def test_where_packages_should_lie(machine: Any) -> None:
    host = machine(
        *("/v/bin/python", "/v/lib/python3.12/site-packages/x", "/v/lib/python3.13t/dist-packages/x"),
        *("/v/lib/python3.11/os.py", "/v/lib/node/site-packages/x"),
    )
    assert interpreter.guessed_search_path(host, "/v/bin/python") == [
        "/v/lib/python3.12/site-packages",
        "/v/lib/python3.13t/dist-packages",
    ]
    assert interpreter.guessed_search_path(host, "/none/bin/python") == []


def test_the_first_line_with_anything_on_it() -> None:
    assert interpreter.first_line("\n  \n\t two words \nmore") == "two words"
    assert interpreter.first_line("x" * 500) == "x" * 160
    assert interpreter.first_line("") == ""
