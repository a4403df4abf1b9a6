"""``--format nagios`` against the form that monitors read.

The form: Monitoring Plugins Development Guidelines, sections "Plugin Output for Nagios", "Performance data" and
"Threshold and Ranges", and the plugin API of Nagios Core (return codes 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN; first
line ``text|performance data``, then long text). The expressions below are written from those texts.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from machine_stories import Story, load_all

from gonogo.acceptance import Entry
from gonogo.finding import STATUSES
from gonogo.node.facts.codec import decode
from gonogo.preflight import Request, judge
from gonogo.report import Style, nagios

GIB = 1 << 30
LABEL = r"(?:'(?:[^'=|]|'')+'|[^'= |]+)"
NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"  # "value, min and max in class [-0-9.]"
UNIT = r"(?:u?s|ms|%|[KMGT]?B|c)?"
RANGE = rf"@?(?:(?:~|{NUMBER})?:)?(?:{NUMBER})?"
ITEM = re.compile(rf"({LABEL})=({NUMBER})({UNIT})((?:;{RANGE}){{0,2}})((?:;(?:{NUMBER})?){{0,2}})")
FIRST_LINE = re.compile(r"GONOGO (OK|WARNING|CRITICAL|UNKNOWN) - ([^|]+?)(?:\|([^|]+))?")
STATES = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}
OF_VERDICT = {"go": "OK", "go-with-warnings": "WARNING", "no-go": "CRITICAL"}
NO_READING = {"temperature_celsius": {"missing": "failed"}, "power_watts": {"missing": "failed"}}
THERMAL = {"event_reasons_active": ["sw_thermal_slowdown"]}
CPU_ONLY = {"folder": "/opt/training/torch", "version": "2.9.1", "cuda": {"missing": "not_found"}}


class Parsed:
    """A plugin's output taken apart; an assertion fails for what a monitor could not read."""

    def __init__(self, output: str) -> None:
        assert output.endswith("\n")
        first, *self.long = output[:-1].split("\n")
        assert not re.search("[\x00-\x1f\x7f-\x9f]", first + "".join(self.long))
        match = FIRST_LINE.fullmatch(first)
        assert match, first
        assert "|" not in "".join(self.long)
        self.state, self.text = match.group(1), match.group(2)
        self.values: dict[str, tuple[float, str, list[str]]] = {}
        for item in (match.group(3) or "").split():
            found = ITEM.fullmatch(item)
            assert found, item
            assert found.group(1) not in self.values, item
            self.values[found.group(1)] = (float(found.group(2)), found.group(3), found.group(5).split(";")[1:])

    def counts(self) -> dict[str, int]:
        return {status: int(self.values[status.lower()][0]) for status in STATUSES}


def checked(gonogo: Callable[..., Any], *options: str, **more: Any) -> Parsed:
    """Run it; the exit status must be the one of the state."""
    completed = gonogo("check", "--format", "nagios", *options, **more)
    assert "Traceback" not in completed.stderr
    parsed = Parsed(completed.stdout)
    assert completed.returncode == STATES[parsed.state]
    return parsed


def unknown(completed: Any, *words: str) -> None:
    """The call was not carried out: one line on standard output, nothing beside it, exit status 3."""
    assert (completed.returncode, completed.stderr) == (3, "")
    parsed = Parsed(completed.stdout)
    assert (parsed.state, parsed.values, parsed.long) == ("UNKNOWN", {}, [])
    for word in words:
        assert word in parsed.text


# -- states -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "python", "state", "begins"),
    [
        ({}, {}, "OK", r"go: NVIDIA DGX Spark \(GB10\)$"),
        (NO_READING, {}, "OK", r"go: NVIDIA DGX Spark \(GB10\), 1 unknown$"),
        (THERMAL, {}, "WARNING", r"go-with-warnings: G4: 41, 4\.20 W .*thermal"),
        ({}, {"torch": {"missing": "not_found"}}, "WARNING", "go-with-warnings: no training environment judged: "),
        ({}, {"torch": CPU_ONLY}, "CRITICAL", "no-go: G12: "),
        (THERMAL, {"torch": CPU_ONLY}, "CRITICAL", r"no-go: G12: .* \(\+1 more\)$"),
    ],
)
def test_state(
    gonogo: Callable[..., Any],
    spark: Callable[..., Any],
    written: Callable[..., str],
    device: Any,
    python: Any,
    state: str,
    begins: str,
) -> None:
    document = spark(python=python)
    document["sections"]["gpu"]["devices"][0].update(device)
    parsed = checked(gonogo, "--facts", written(document), "--select", "G3,G4,G12")
    assert parsed.state == state
    assert re.match(begins, parsed.text), parsed.text


def test_nothing_that_could_be_judged(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    document = spark()
    document["sections"]["gpu"]["devices"][0].update(NO_READING)
    parsed = checked(gonogo, "--facts", written(document), "--select", "G4")
    assert parsed.state == "UNKNOWN" and parsed.text.startswith("nothing could be judged: G4: ")
    # A GPU that does not answer is a reason of its own: that stays no-go.
    document["sections"]["gpu"] = {"missing": "timed_out"}
    assert checked(gonogo, "--facts", written(document), "--select", "G4").state == "CRITICAL"
    # Nothing asked, nothing wrong.
    assert checked(gonogo, "--facts", written(spark()), "--select", "G4", "--ignore", "G4").state == "OK"


@pytest.mark.parametrize("story", load_all(), ids=lambda story: story.name)
@pytest.mark.parametrize("verbose", [False, True])
def test_every_machine(story: Story, verbose: bool) -> None:
    preflight = judge(decode(story.document), story.request)
    parsed = Parsed(nagios.render(preflight, Style(verbose=verbose)))
    assert STATES[parsed.state] == nagios.exit_status(preflight)
    assert parsed.state == OF_VERDICT[story.expected.verdict] or parsed.state == "UNKNOWN"
    assert parsed.counts() == dict.fromkeys(STATUSES, 0) | Counter(item.status for item in preflight.findings)
    assert len(parsed.text) < 300
    loud = {(item.gotcha, item.status) for item in preflight.findings if item.status in ("UNKNOWN", "WARN", "FAIL")}
    lines = {tuple(line.partition(":")[0].split()) for line in parsed.long if re.match("G[0-9]+ [A-Z]+: ", line)}
    assert lines >= loud if verbose else lines == loud


# -- figures ----------------------------------------------------------------------------------------------------------


def test_figures(gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]) -> None:
    path = written(spark())
    values = checked(gonogo, "--facts", path).values
    assert values["memory_available"] == (100 * GIB, "B", ["0", str(121 * GIB)])
    assert values["gpu0_temperature_celsius"][:2] == (41, "")
    assert values["gpu0_power_watts"][:2] == (4.2, "")
    assert values["duration"][1] == "s" and 0 < values["duration"][0] < 60
    # Readings of the GPU that is here say nothing of the one that was asked about.
    assert not [label for label in checked(gonogo, "--facts", path, "--platform", "h200").values if "gpu" in label]


def test_figures_that_are_not_there(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    document = spark(memory={"total_bytes": None})
    document["sections"]["gpu"]["devices"] = [
        {"device_index": 0, "name": "NVIDIA GB10", "compute_capability": "12.1", "temperature_celsius": 40},
        {"device_index": 1, "name": "NVIDIA GB10", "compute_capability": "12.1", "power_watts": 1e15},
    ]
    values = checked(gonogo, "--facts", written(document)).values
    assert values["memory_available"] == (100 * GIB, "B", ["0", ""])
    assert {label for label in values if "gpu" in label} == {"gpu0_temperature_celsius", "gpu1_power_watts"}
    assert values["gpu1_power_watts"][0] == 1e15


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="needs Linux")
def test_this_machine(gonogo: Callable[..., Any]) -> None:
    total = int(re.search(r"MemTotal: +([0-9]+) kB", Path("/proc/meminfo").read_text())[1]) * 1024  # type: ignore[index]
    available, unit, limits = checked(gonogo).values["memory_available"]
    assert (unit, limits) == ("B", ["0", str(total)]) and 0 < available < total


# -- text -------------------------------------------------------------------------------------------------------------


def test_nothing_from_outside_begins_performance_data_or_a_line(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    hostile = "a|b=1;2\n\x1b[31m|c"
    document = spark(
        python={"executable": hostile, "torch": {"missing": "not_found"}}, container={"markers": [hostile]}
    )
    parsed = checked(gonogo, "--facts", written(document))
    assert "a/b=1;2\\n" in parsed.text and not {"c", "b"} & set(parsed.values)


def test_the_first_line_stays_short(spark: Callable[..., Any]) -> None:
    torch = CPU_ONLY | {"version": "2.9.1" + "x" * 5000}
    preflight = judge(decode(spark(python={"torch": torch, "executable": "/" + "y" * 9000})), Request())
    parsed = Parsed(nagios.render(preflight, Style()))
    assert len(parsed.text) < 300 and "..." in parsed.text


def test_accepted_findings_are_marked_and_counted(spark: Callable[..., Any]) -> None:
    request = Request(accepted=(Entry("G12", "CPU runs | only", None, "gonogo.toml"),))
    parsed = Parsed(nagios.render(judge(decode(spark(python={"torch": CPU_ONLY})), request), Style()))
    assert (parsed.state, parsed.values["accepted"][0], parsed.values["fail"][0]) == ("OK", 1, 0)
    assert parsed.text.endswith(", 1 accepted")
    [line] = [line for line in parsed.long if line.startswith("G12 INFO: ")]
    assert line.endswith("(accepted FAIL: CPU runs / only)")


def test_the_result_comes_first_where_both_streams_are_one(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str]
) -> None:
    # As Icinga 2 starts its plugins.
    lines = gonogo("check", "--format", "nagios", "--facts", written(spark()), shell='exec "$@" 2>&1').stdout
    assert lines.startswith("GONOGO OK - ")
    assert lines.splitlines()[-1].startswith("judged environment: /opt/training/bin/python ")


def test_into_a_file(
    gonogo: Callable[..., Any], spark: Callable[..., Any], written: Callable[..., str], tmp_path: Path
) -> None:
    target = tmp_path / "result"
    completed = gonogo("check", "--format", "nagios", "--facts", written(spark()), "--output", str(target))
    assert (completed.returncode, completed.stdout) == (0, "")
    assert Parsed(target.read_text()).state == "OK"


# -- calls that cannot be carried out ---------------------------------------------------------------------------------


@pytest.mark.parametrize("spelled", [("--format", "nagios"), ("--format=nagios",)])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "--nonsense|"), "--nonsense/"),
        (("check", "--select", "G99"), "'G99'"),
        (("check", "--platform", "spark"), "'spark'"),
        (("check", "--need", "70"), "70GiB"),
        (("check", "--facts", "nowhere.json"), "nowhere.json"),
        (("check", "--python", "/nowhere"), "/nowhere"),
        (("check", "--output", "/nowhere/at all"), "cannot write"),
        (("check", "--fail-on", "warn"), "--fail-on"),
        (("check", "--fail-on", "never"), "--fail-on"),
        (("check", "--facts", "-", "--thorough"), "--thorough"),
        (("chekc",), "'chekc'"),
        (("list",), "--format"),
        (("check", "--format", "xml", "--format"), "expected one argument"),
    ],
)
def test_what_cannot_be_carried_out_is_unknown(
    gonogo: Callable[..., Any], words: tuple[str, ...], said: str, spelled: tuple[str, ...]
) -> None:
    # 2, as other formats have it, is CRITICAL to a monitor.
    unknown(gonogo(words[0], *spelled, *words[1:]), said)


def test_a_bad_configuration_is_unknown(gonogo: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "gonogo.toml").write_text("accept = 1\n")
    unknown(gonogo("check", "--format", "nagios", cwd=tmp_path), "gonogo.toml")


@pytest.mark.parametrize("error", ["ValueError('a|b')", "MemoryError()", "RecursionError('deep')", "OSError(5, 'EIO')"])
def test_a_mistake_of_our_own_is_unknown(error: str, tmp_path: Path) -> None:
    code = f"""if True:
        import sys
        from gonogo.cli import check, main
        def broken(*_): raise {error}
        check._request = broken
        sys.exit(main(["check", "--format", "nagios"]))"""
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60
    )
    unknown(completed)


@pytest.mark.parametrize("closed", [">&-", ">/dev/full"])
def test_an_output_that_nobody_can_read(gonogo: Callable[..., Any], closed: str) -> None:
    completed = gonogo("check", "--format", "nagios", "--facts", "-", shell=f'exec "$@" {closed}')
    assert completed.returncode == 3
    assert "Traceback" not in completed.stderr


def test_an_interrupt_is_unknown(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\nexec sleep 1000\n")
    python.chmod(0o755)
    command = [sys.executable, "-m", "gonogo", "check", "--format", "nagios", "--python", str(python)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        for _ in range(1000):
            if (tmp_path / "started").exists():
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    unknown(subprocess.CompletedProcess(command, process.returncode, output, errors), "interrupted")


def test_other_formats_keep_their_exit_statuses(gonogo: Callable[..., Any]) -> None:
    for words in (("--format", "NAGIOS"), ("--format", "plain", "--select", "nagios"), ("--need", "nagios")):
        completed = gonogo("check", *words)
        assert (completed.returncode, completed.stdout) == (2, "")
