"""Processes of this machine: real ones under the names of others. ps, mount options and namespaces say what is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_host import reason

from gonogo.node import collection, raw
from gonogo.node.collect import processes
from gonogo.node.facts.codec import encode_value
from gonogo.node.facts.missing import NOT_FOUND
from gonogo.node.facts.sections.processes import Process, Processes
from gonogo.node.ports.host import live_host

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")

#: A program that starts another under a title, as vLLM starts its engine, and waits.
VLLM = """import subprocess, sys, time
worker = subprocess.Popen(["VLLM::EngineCore", "300"], executable="/bin/sleep")
while not open(f"/proc/{worker.pid}/cmdline").read():  # execve(2) is not done yet
    time.sleep(0.001)
print(worker.pid, flush=True)
time.sleep(300)
"""
#: setproctitle's way: the title over the arguments, the rest with zeros (prctl(2), arg_start of proc(5)).
TITLED = """import ctypes, os, time
fields = open("/proc/self/stat").read().rpartition(") ")[2].split()
start, end = int(fields[45]), int(fields[46])
ctypes.memset(start, 0, end - start)
ctypes.memmove(start, b"sglang::scheduler_TP0", 21)
print(os.getpid(), flush=True)
time.sleep(300)
"""
Start = Callable[..., "tuple[int, int]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a Python script of this name under a shell; its pid and the one that it prints first."""
    started: list[tuple[subprocess.Popen[bytes], int]] = []

    def begin(name: str, source: str, *arguments: str) -> tuple[int, int]:
        (tmp_path / name).write_text(source)
        command = ["sh", "-c", '"$@" & echo $!; wait', "sh", sys.executable, str(tmp_path / name), *arguments]
        shell = subprocess.Popen(command, stdout=subprocess.PIPE, env={"HF_TOKEN": "hf_secret", "LOCAL_RANK": "3"})
        assert shell.stdout is not None
        pid, printed = int(shell.stdout.readline()), int(shell.stdout.readline())
        shell.stdout.close()
        started.extend(((shell, pid), (shell, printed)))
        return pid, printed

    yield begin
    for shell, pid in started:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        shell.wait()


def found(facts: Any) -> dict[int, Process]:
    assert isinstance(facts, Processes) and isinstance(facts.found, tuple)
    return {process.pid: process for process in facts.found}


def ps(pid: int, column: str) -> str:
    command = ["ps", "-o", f"{column}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


ARGUMENTS = ("serve", "org/secret-model", "--gpu_memory_utilization=0.5", "--api-key", "hf_secret", "-tp", "1")


def test_a_real_server_and_its_orphan(start: Start) -> None:
    server, worker = start("vllm", VLLM, *ARGUMENTS)
    facts = found(processes.collect(live_host()))
    assert (facts[server].role, facts[server].program, facts[server].same_user) == ("server", "vllm", True)
    assert facts[server].flags == {"gpu-memory-utilization": "0.5", "tensor-parallel-size": "1"}
    assert facts[server].environment == {"LOCAL_RANK": "3"}
    assert facts[server].resident_bytes == pytest.approx(int(ps(server, "rss")) * 1024, rel=0.1)
    assert (facts[worker].role, facts[worker].parent_pid, facts[worker].ancestor_pid) == ("worker", server, server)
    assert (facts[worker].parent_name, facts[server].parent_name) == ("python", "sh")
    os.kill(server, signal.SIGKILL)
    for _ in range(500):
        if not ps(server, "pid"):
            break
        time.sleep(0.01)
    orphan = found(processes.collect(live_host()))[worker]
    assert server not in found(processes.collect(live_host()))
    assert orphan.parent_pid == int(ps(worker, "ppid")) != server


def test_a_real_title(start: Start) -> None:
    pid, _ = start("anything.py", TITLED, *ARGUMENTS)
    assert ps(pid, "args") == "sglang::scheduler_TP0"
    process = found(processes.collect(live_host()))[pid]
    assert (process.role, process.program, reason(process.flags)) == ("worker", "sglang", NOT_FOUND)


def test_nothing_private_is_recorded_and_the_record_replays(start: Start) -> None:
    server, _ = start("vllm", VLLM, *ARGUMENTS)
    results = [collection.run_one("processes", live_host(), record=True)]
    text = json.dumps(raw.document(results))
    assert str(server) in text and not any(secret in text for secret in ("secret", "HF_TOKEN", "api-key"))
    replayed = processes.collect(raw.host_of(json.loads(text)))
    assert encode_value(replayed) == results[0].section


SCRIPT = """import json
from gonogo.node import collection
from gonogo.node.ports.host import live_host
print(json.dumps(collection.gather(live_host(), ["processes"])[0].section))
"""


def facts_inside(*command: str) -> Any:
    """What is collected by ``command``, which runs what follows it; the test is skipped where it may not."""
    try:
        completed = subprocess.run(
            [*command, sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
        )
    except FileNotFoundError:
        pytest.skip(f"no {command[0]}")
    if completed.returncode:
        pytest.skip(f"not for us: {completed.stderr.strip()[-80:]}")
    return json.loads(completed.stdout)


def test_a_real_namespace_of_its_own(start: Start) -> None:
    start("vllm", VLLM, *ARGUMENTS)
    facts = facts_inside("unshare", "--fork", "--pid", "--mount-proc")
    assert facts.pop("pids")[0] == 1  # unshare's own child
    assert facts == {"host_namespace": False, "hidden_from_us": False, "complete": True, "found": []}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can hide others")
@pytest.mark.parametrize("hidepid", [1, 2])
def test_real_hiding(start: Start, hidepid: int) -> None:
    """hidepid of proc(5), seen by a user who owns nothing here."""
    start("vllm", VLLM, *ARGUMENTS)
    nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups"
    mount = f'mount -t proc -o hidepid={hidepid} proc /proc && exec {nobody} "$@"'
    facts = facts_inside("unshare", "-m", "sh", "-c", mount, "sh")
    assert (facts["hidden_from_us"], facts["found"]) == (True, [])
    assert facts["host_namespace"]["missing"] == "permission_denied"


def test_many_processes_take_little_time() -> None:
    sleeping = [subprocess.Popen(["sleep", "60"]) for _ in range(200)]
    try:
        times = []
        for _ in range(3):
            started = time.perf_counter()
            facts = processes.collect(live_host())
            times.append(time.perf_counter() - started)
        assert isinstance(facts, Processes) and facts.complete is True
        assert min(times) < 0.1  # measured: 0.007 s beside 620 processes
    finally:
        for child in sleeping:
            child.kill()
            child.wait()


def test_whether_this_is_the_whole_machine() -> None:
    facts = processes.collect(live_host())
    assert isinstance(facts, Processes)
    if facts.hidden_from_us is not True:  # process 2 of a whole machine is the kernel's
        assert facts.host_namespace is (ps(2, "comm") == "kthreadd")
