"""``gonogo.toml`` where it is looked for, what is refused, and ``--thorough``. Expectations: docs/contract.md."""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SOURCE, running_as_root
from refusal import refused

from gonogo.node import collect
from gonogo.node.collection import gather
from gonogo.node.ports.host import live_host

CPU_ONLY = {"folder": "/opt/training/torch", "version": "2.9.1", "cuda": {"missing": "not_found"}}

Run = Callable[..., Any]


@pytest.fixture
def check(gonogo: Run, spark: Callable[..., Any], written: Callable[..., str], tmp_path: Path) -> Run:
    """Check a Spark whose torch is for the CPU only (G12, a FAIL), in an empty working folder ``check.folder``."""
    facts, folder = written(spark(python={"torch": CPU_ONLY})), tmp_path / "here"
    folder.mkdir()

    def run(*options: str, config: str | bytes | None = None, **more: Any) -> Any:
        if config is not None:
            content = config if isinstance(config, bytes) else config.encode()
            (folder / "gonogo.toml").write_bytes(content)
        return gonogo("check", "--facts", facts, "--format", "json", *options, **{"cwd": folder, **more})

    run.folder = folder  # type: ignore[attr-defined]
    run.home = tmp_path / "home"  # type: ignore[attr-defined]
    return run


def accept(reason: str, *more: str) -> str:
    return "\n".join(["[accept.G12]", f'reason = "{reason}"', *more, ""])


def reasons(completed: Any) -> dict[str, tuple[str, str]]:
    """Gotcha to reason and source of each accepted finding."""
    found = [item for item in json.loads(completed.stdout)["findings"] if "accepted" in item]
    return {item["gotcha"]: (item["accepted"]["reason"], item["accepted"]["source"]) for item in found}


# -- where it is looked for -------------------------------------------------------------------------------------------


def test_without_a_file_nothing_is_accepted(check: Run) -> None:
    completed = check()
    assert (completed.returncode, reasons(completed)) == (1, {})
    assert completed.stderr.startswith("judged environment: ") and completed.stderr.count("\n") == 1


def test_the_working_folder(check: Run) -> None:
    completed = check(config=accept("a CPU job"))
    assert (completed.returncode, reasons(completed)) == (0, {"G12": ("a CPU job", "gonogo.toml")})
    assert completed.stderr.splitlines()[1:] == ["gonogo check: 1 finding accepted by gonogo.toml"]
    # Text shows them itself.
    text = check("--format", "text", "-v")
    assert (text.returncode, text.stderr) == (0, "")
    assert "(accepted FAIL: a CPU job)" in re.sub(r"\s+", " ", text.stdout)
    assert text.stdout.endswith("\nconfig: gonogo.toml\n")
    assert check("--no-config").returncode == 1
    assert check("--fail-on", "info").returncode == 1


@pytest.mark.parametrize("config_home", [None, "", "relative", "{home}/elsewhere", "{home}/elsewhere/"])
def test_the_users_own(check: Run, config_home: str | None) -> None:
    # XDG base directory specification: empty is as not set, a path that is not absolute is ignored.
    base = check.home / ("elsewhere" if config_home and "{" in config_home else ".config")
    (base / "gonogo").mkdir(parents=True)
    (base / "gonogo" / "gonogo.toml").write_text(accept("mine"))
    env = {"XDG_CONFIG_HOME": config_home.format(home=check.home) if config_home is not None else None}
    completed = check(env=env)
    [(reason, source)] = reasons(completed).values()
    assert (completed.returncode, reason) == (0, "mine")
    assert os.path.normpath(source) == str(base / "gonogo" / "gonogo.toml")
    assert check(env={**env, "HOME": None}).returncode == (0 if "elsewhere" in str(base) else 1)


def test_the_working_folder_wins_for_the_same_thing(check: Run) -> None:
    (check.home / ".config" / "gonogo").mkdir(parents=True)
    users = check.home / ".config" / "gonogo" / "gonogo.toml"
    users.write_text('accept = {"G12" = {reason = "mine"}, "G9" = {reason = "container"}, "G3" = {reason = "none"}}')
    completed = check("-v", config=accept("of this folder"))
    assert reasons(completed)["G12"] == ("of this folder", "gonogo.toml")
    assert json.loads(completed.stdout)["config"] == ["gonogo.toml", str(users)]
    # There it may also have run out: then it counts, whatever the user's own says.
    assert check(config=accept("x", "until = 2001-01-01")).returncode == 1


def test_one_file_is_read_once(check: Run) -> None:
    folder = check.home / ".config" / "gonogo"
    folder.mkdir(parents=True)
    (folder / "gonogo.toml").write_text(accept("mine"))
    assert json.loads(check("-v", cwd=folder).stdout)["config"] == ["gonogo.toml"]


@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT+12", "Pacific/Kiritimati"])
def test_the_last_day_is_one_of_this_place(check: Run, zone: str) -> None:
    # The two zones lie 26 hours apart: at every moment it is not the same day there.
    hours = {"UTC": 0, "Etc/GMT+12": -12, "Pacific/Kiritimati": 14}[zone]
    now = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=hours)))
    if now.time() > datetime.time(23, 59):
        time.sleep(61)
        now += datetime.timedelta(minutes=1)
    yesterday = now.date() - datetime.timedelta(days=1)
    for day, status in ((now.date(), 0), (yesterday, 1)):
        assert check(config=accept("x", f"until = {day}"), env={"TZ": zone}).returncode == status, day


def test_a_live_check_accepts_too(check: Run, gonogo: Run, environment: Callable[..., Path]) -> None:
    (check.folder / "gonogo.toml").write_text(accept("a CPU job"))
    python = str(environment(torch="2.9.1", cuda=None))
    options = ("check", "--format", "json", "--select", "G12", "--platform", "gb10", "--python", python)
    assert reasons(gonogo(*options, cwd=check.folder)) == {"G12": ("a CPU job", "gonogo.toml")}
    assert reasons(gonogo(*options, "--no-config", cwd=check.folder)) == {}


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("accept = 1", "accept must be a table"),
        ("[accept]\nG99 = {reason = 'x'}", "'G99'"),
        ("[accept.G9]", "accept.G9: reason"),
        ("[accept.G9]\nreason = 'x'\nuntil = 'soon'", "accept.G9: until"),
        ("[accept.G9.no-marker]\nreason = 'x'", '[accept."G9.no-marker"]'),
        ("acept = {}", "'acept'"),
        ("[accept.G9]\nreason = 'x'\nuntil = 2027-02-30", "line 3"),
        ("[accept.G9]\nreason = x", "line 2, column 10"),
        ("[accept.G9]\n[accept.G9]", "line 2"),
        ("\0", "line 1"),
        ("[accept.G9]\nreason = '\0'", "line 2"),
        (b"\xff", "UTF-8"),
        ("[accept.G9]\nreason = 'x'".encode("utf-16"), "UTF-8"),
        ("[" * 1_000_000, "no TOML"),
        ("x=" + "[" * 1_000_000, "no TOML"),
        ("x=" + "{a=" * 300_000, "no TOML"),
        ("x=" + "9" * 1_000_000, "no TOML"),
        ("a" + ".a" * 500_000 + "=1", "dots"),
        ("#" * ((1 << 20) + 1), "1 MiB"),
        ("\x1b[31m = 1", "no TOML"),
        ('"\\u001b[31m" = 1', "unknown key"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_a_file_that_cannot_be_meant(check: Run, config: str | bytes, said: str) -> None:
    refused(check(config=config, timeout=30), "gonogo.toml", said)


@pytest.mark.parametrize("config", ["", "# nothing\n", "accept = {}", "[accept]"])
def test_a_file_that_accepts_nothing(check: Run, config: str) -> None:
    assert check(config=config).returncode == 1


def test_a_byte_order_mark_is_what_windows_editors_add(check: Run) -> None:
    assert check(config=b"\xef\xbb\xbf" + accept("x").encode()).returncode == 0


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to itself", "device"])
@pytest.mark.parametrize("place", ["here", "home"])
def test_what_is_no_file(check: Run, kind: str, place: str) -> None:
    folder = check.folder if place == "here" else check.home / ".config" / "gonogo"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "gonogo.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)  # nobody writes into it: opening it would wait for ever
    else:
        path.symlink_to("gonogo.toml" if kind == "link to itself" else "/dev/zero")
    refused(check(timeout=20), "cannot read", "gonogo.toml")
    assert check("--no-config").returncode == 1


def test_a_file_that_is_not_there_after_all(check: Run) -> None:
    (check.folder / "gonogo.toml").symlink_to("nowhere")
    (check.home / ".config").write_text("no folder")
    assert check().returncode == 1


def test_a_file_that_may_not_be_read(somebody: Run) -> None:
    path = somebody.folder / "gonogo.toml"  # type: ignore[attr-defined]
    path.write_text(accept("x"))
    path.chmod(0)
    if running_as_root():
        os.chown(path, 65534, 65534)
    refused(somebody("check"), "cannot read gonogo.toml", "Permission denied")
    # A home that is closed to this user is somebody else's: no reason to judge nothing.
    path.unlink()
    closed = somebody.folder / "closed"  # type: ignore[attr-defined]
    (closed / ".config").mkdir(parents=True)
    closed.chmod(0)
    if running_as_root():
        os.chown(closed, 0, 0)
    assert somebody("check", env={"HOME": str(closed)}).returncode in (0, 1)


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace")
def test_two_looks_where_there_is_no_file(check: Run) -> None:
    trace = check.folder / "trace"
    shell = f'exec strace -f -e trace=%file -o {trace} "$@"'
    assert check(shell=shell).returncode == 1
    assert len(re.findall(r"gonogo\.toml", trace.read_text())) == 2


def test_no_toml_reader_without_a_file(tmp_path: Path) -> None:
    code = "import sys\nfrom gonogo.cli import main\nmain(['check', '--facts', '/nowhere'])\nprint(*sys.modules)"
    completed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PYTHONPATH": str(SOURCE)},
    )
    assert "gonogo.cli.check" in completed.stdout.split()
    assert not {"tomllib", "tomli", "datetime", "gonogo.acceptance"} & set(completed.stdout.split())


# -- --thorough -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_collector_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.py").write_text("import os\ndef collect(host): return {'pid': os.getpid()}")
    shutil.copy(tmp_path / "memory.py", tmp_path / "driver.py")
    (tmp_path / "updates.py").write_text(
        "import os, time\ndef collect(host):\n    time.sleep(1)\n    return os.getpid()"
    )
    monkeypatch.setattr(collect, "__path__", [str(tmp_path)])
    monkeypatch.setattr(collect, "LIMIT_SECONDS", 0.5)
    assert collect.names() == ["driver", "memory", "updates"]
    for name in collect.names():
        monkeypatch.delitem(sys.modules, f"gonogo.node.collect.{name}", raising=False)
    usual = {result.name: result.section for result in gather(live_host())}
    assert set(usual) == {"driver", "memory"}
    thorough = {result.name: result for result in gather(live_host(thorough=True))}
    # In a child of its own, beside the others, with its own limit: it took longer than theirs.
    assert (thorough["updates"].outcome, set(thorough)) == ("ok", {"driver", "memory", "updates"})
    assert thorough["driver"].section == thorough["memory"].section != {"pid": thorough["updates"].section}


def test_the_command_asks_for_it(gonogo: Run, tmp_path: Path) -> None:
    # The option reaches the host: a raw record says how it was made, and replays the same way.
    for options, thorough in (((), False), (("--thorough",), True)):
        completed = gonogo("record", "--raw", *options)
        assert json.loads(completed.stdout)["recording"]["host"]["thorough"] is thorough
        wanted = {name for name in collect.names() if thorough or name not in collect.ON_REQUEST}
        for verb in (("record",), ("check", "--format", "json", "-v")):
            ran = json.loads(gonogo(*verb, *options).stdout)["collectors"]
            assert {run["name"] for run in ran} == wanted


def test_a_record_cannot_be_asked_again(check: Run) -> None:
    refused(check("--thorough"), "--facts", "--thorough")
