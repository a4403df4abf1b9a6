"""Where the result of ``gonogo check`` goes: standard output, a file replaced whole, a terminal in colour."""

from __future__ import annotations

import json
import os
import pty
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

JUDGED = "judged environment: /opt/training/bin/python (VIRTUAL_ENV), Python 3.12.3, torch 2.9.1+cu130"


@pytest.fixture
def facts(spark: Callable[..., Any], written: Callable[..., str]) -> str:
    return written(spark())


# -- which environment was judged -------------------------------------------------------------------------------------


def test_text_says_first_which_environment_was_judged(gonogo: Callable[..., Any], facts: str) -> None:
    completed = gonogo("check", "--facts", facts)
    assert completed.stdout.splitlines()[0] == JUDGED
    assert completed.stderr == ""


@pytest.mark.parametrize("output_format", ["plain", "json", "env-report"])
def test_formats_for_programs_say_it_on_standard_error(
    gonogo: Callable[..., Any], facts: str, output_format: str
) -> None:
    completed = gonogo("check", "--facts", facts, "--format", output_format)
    assert completed.stderr == JUDGED + "\n"
    assert "judged environment" not in completed.stdout


def test_it_is_said_when_there_is_none(gonogo: Callable[..., Any], spark: Any, written: Any) -> None:
    completed = gonogo("check", "--facts", written(spark(python=None)))
    assert completed.stdout.startswith("judged environment: none")


@pytest.mark.parametrize("options", [(), ("-v",)])
def test_text_shows_the_worst_first(gonogo: Callable[..., Any], options: tuple[str, ...]) -> None:
    golden = Path(__file__).parent / "golden" / "facts.json"
    shown = gonogo("check", "--facts", str(golden), *options).stdout
    order = re.findall(r"^(FAIL|WARN|UNKNOWN|INFO|SKIP|PASS)\b", shown, re.MULTILINE)
    assert order == sorted(order, key=("FAIL", "WARN", "UNKNOWN", "INFO", "SKIP", "PASS").index)
    assert {"FAIL", "WARN", "INFO", "SKIP", "PASS"} <= set(order)


# -- a file -----------------------------------------------------------------------------------------------------------


def test_output_goes_to_the_file_alone(gonogo: Callable[..., Any], facts: str, tmp_path: Path) -> None:
    expected = gonogo("check", "--facts", facts, "--format", "plain").stdout
    target = tmp_path / "result.txt"
    completed = gonogo("check", "--facts", facts, "--format", "plain", "--output", str(target))
    assert (completed.stdout, completed.stderr) == ("", JUDGED + "\n")
    assert target.read_text() == expected
    assert gonogo("check", "--facts", facts, "--format", "plain", "--output", "-").stdout == expected


def test_the_exit_status_is_the_verdict_with_an_output_too(
    gonogo: Callable[..., Any], spark: Any, written: Any, tmp_path: Path
) -> None:
    path = written(spark(gpu={"devices": []}))
    assert gonogo("check", "--facts", path, "--output", str(tmp_path / "result")).returncode == 1


def test_a_file_is_replaced_whole(gonogo: Callable[..., Any], facts: str, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    target = folder / "result.json"
    target.write_text("old" * 10_000)
    with target.open() as reader:  # someone who has it open goes on reading the old one
        assert gonogo("check", "--facts", facts, "--format", "json", "--output", str(target)).returncode == 0
        assert reader.read() == "old" * 10_000
    assert json.loads(target.read_text())["verdict"] == "go"
    assert list(folder.iterdir()) == [target]


def test_a_write_that_fails_leaves_the_old_file(gonogo: Callable[..., Any], facts: str, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    target = folder / "result.json"
    target.write_text("old")
    # A file-size limit of nothing stands for a disk that is full.
    completed = gonogo("check", "--facts", facts, "--output", str(target), shell='ulimit -f 0; exec "$@"')
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr.startswith("gonogo check: cannot write")
    assert target.read_text() == "old"
    assert list(folder.iterdir()) == [target]


def test_a_link_stays_a_link(gonogo: Callable[..., Any], facts: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link, dangling = tmp_path / "real" / "result", tmp_path / "link", tmp_path / "dangling"
    real.write_text("old")
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "real" / "new")
    for target in (link, dangling):
        assert gonogo("check", "--facts", facts, "--output", str(target)).returncode == 0
        assert target.is_symlink()
        assert target.read_text().startswith("judged environment")
    assert real.read_text() == dangling.read_text()


def test_the_mode_is_kept_and_a_new_file_follows_the_umask(
    gonogo: Callable[..., Any], facts: str, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch()
    old.chmod(0o604)
    for target in (old, new):
        gonogo("check", "--facts", facts, "--output", str(target), shell='umask 027; exec "$@"')
    assert stat.S_IMODE(old.stat().st_mode) == 0o604
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


def test_the_longest_file_name(gonogo: Callable[..., Any], facts: str, tmp_path: Path) -> None:
    # NAME_MAX on Linux is 255 bytes; what is written beside the file first must not need more.
    target = tmp_path / ("x" * 255)
    completed = gonogo("check", "--facts", facts, "--output", str(target))
    assert (completed.returncode, completed.stderr) == (0, "")
    assert target.exists()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout on this system")
def test_a_device_is_written_to(gonogo: Callable[..., Any], facts: str) -> None:
    completed = gonogo("check", "--facts", facts, "--output", "/dev/stdout")
    assert completed.stdout.startswith(JUDGED)
    assert gonogo("check", "--facts", facts, "--output", "/dev/null").returncode == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout on this system")
def test_standard_output_by_its_name_is_not_replaced(gonogo: Callable[..., Any], facts: str, tmp_path: Path) -> None:
    # `gonogo check --output /dev/stdout >> log`: the name leads to the log itself, whose lines must not be lost.
    log = tmp_path / "log"
    log.write_text("earlier\n")
    with log.open("a") as end:
        gonogo("check", "--facts", facts, "--output", "/dev/stdout", stdout=end, stderr=subprocess.PIPE)
        end.write("later\n")
    lines = log.read_text().splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("earlier", JUDGED, "later")


def test_a_folder_that_may_not_be_written(somebody: Callable[..., Any]) -> None:
    folder = somebody.folder / "locked"  # type: ignore[attr-defined]
    folder.mkdir()
    folder.chmod(0o555)
    completed = somebody("check", "--output", str(folder / "result"))
    assert (completed.returncode, completed.stdout) == (2, "")
    assert re.fullmatch(r"gonogo check: cannot write [^\n]*: Permission denied\n", completed.stderr)


# -- standard input ---------------------------------------------------------------------------------------------------


def test_facts_from_standard_input(gonogo: Callable[..., Any], spark: Any, facts: str) -> None:
    from_file = gonogo("check", "--facts", facts, "--format", "plain")
    from_input = gonogo("check", "--facts", "-", "--format", "plain", input=json.dumps(spark()))
    assert (from_input.stdout, from_input.returncode) == (from_file.stdout, 0)


# -- colour -----------------------------------------------------------------------------------------------------------

COLOR = re.compile(r"\x1b\[[0-9;]*m")


def on_a_terminal(gonogo: Callable[..., Any], *arguments: str, columns: int = 100, **variables: str | None) -> str:
    """What arrives at a terminal that is standard output."""
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    try:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        # The terminal's buffer holds a few thousand characters: enough for a report without -v.
        completed = gonogo(
            *arguments, stdout=slave, stderr=subprocess.PIPE, env={"TERM": "xterm-256color", **variables}
        )
        assert "Traceback" not in completed.stderr
    finally:
        os.close(slave)
    received = b""
    try:
        while chunk := os.read(master, 1 << 16):
            received += chunk
    except OSError:  # Linux says EIO when the other end is closed
        pass
    finally:
        os.close(master)
    return received.decode().replace("\r\n", "\n")


def test_colour_on_a_terminal_only(gonogo: Callable[..., Any], facts: str) -> None:
    without = gonogo("check", "--facts", facts, env={"TERM": "xterm-256color"}).stdout
    assert "\x1b" not in without
    colored = on_a_terminal(gonogo, "check", "--facts", facts)
    assert COLOR.search(colored)
    assert COLOR.sub("", colored) == without
    assert COLOR.search(on_a_terminal(gonogo, "check", "--facts", facts, NO_COLOR=""))  # no-color.org: when not empty


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        ((), {"NO_COLOR": "1"}),
        ((), {"TERM": "dumb"}),
        (("--format", "plain"), {}),
        (("--format", "json"), {}),
        (("--format", "env-report"), {}),
    ],
)
def test_no_colour(
    gonogo: Callable[..., Any], facts: str, options: tuple[str, ...], variables: dict[str, str | None]
) -> None:
    assert "\x1b" not in on_a_terminal(gonogo, "check", "--facts", facts, *options, **variables)


def test_no_colour_in_a_file(gonogo: Callable[..., Any], facts: str, tmp_path: Path) -> None:
    target = tmp_path / "result"
    assert on_a_terminal(gonogo, "check", "--facts", facts, "--output", str(target)) == ""
    assert "\x1b" not in target.read_text()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_fit_the_terminal(gonogo: Callable[..., Any], spark: Any, written: Any, columns: int) -> None:
    document = spark(memory={"cached_bytes": 60 << 30, "shared_bytes": 0})
    shown = COLOR.sub("", on_a_terminal(gonogo, "check", "--facts", written(document), columns=columns))
    table = shown.split("\n\n")[1].splitlines()
    # A word of its own that is longer than the line stands alone and is not cut: commands are to be copied.
    assert [line for line in table if len(line) > columns and " " in line.strip()] == []


def test_a_terminal_of_unknown_size(gonogo: Callable[..., Any], facts: str) -> None:
    assert on_a_terminal(gonogo, "check", "--facts", facts, columns=0).startswith(JUDGED)
