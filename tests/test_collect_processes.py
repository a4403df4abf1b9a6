"""Processes from hand-made /proc folders. Expected values are the files' own, or worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_host import host, reason

from gonogo.node.collect import processes
from gonogo.node.facts.codec import encode_value
from gonogo.node.facts.missing import NOT_FOUND, PERMISSION_DENIED, Missing
from gonogo.node.facts.sections.processes import Process, Processes
from gonogo.node.ports.files import Files

SECRETS = ("org/secret-model", "hf_secret", "/home/me", "10.0.0.1")


def proc(pid: int, cmdline: str, parent: int = 1, resident_kb: int = 1024, user: int = 1000, environ: str = "") -> Any:
    folder = f"/proc/{pid}"
    return {
        f"{folder}/cmdline": cmdline.replace(" ", "\0").encode() + b"\0",
        f"{folder}/status": f"Name:\tx\nPPid:\t{parent}\nUid:\t{user}\t{user}\t{user}\t{user}\n"
        f"VmRSS:\t{resident_kb} kB\n",
        f"{folder}/environ": environ.replace(" ", "\0"),
    }


BASE = {
    "/proc/1/cmdline": "/sbin/init\0splash\0",
    "/proc/1/comm": "systemd\n",
    "/proc/2/cmdline": "",
    "/proc/2/comm": "kthreadd\n",
    "/proc/meminfo": "MemTotal: 1 kB\n",
    "/proc/self/mountinfo": "23 28 0:22 / /proc rw,relatime shared:12 - proc proc rw\n",
    "/proc/self/stat": "900 (python3 ) x) R 800 900 900 0 -1 4194304",
}
SERVER = (
    "/v/bin/python3 /v/bin/vllm serve org/secret-model --gpu-memory-utilization 0.5 --api-key hf_secret --host 10.0.0.1"
)


def found(facts: Any) -> dict[int, Process]:
    assert isinstance(facts, Processes) and isinstance(facts.found, tuple)
    return {process.pid: process for process in facts.found}


def collect(root: Path, *parts: dict[str, Any], **changes: Any) -> Any:
    files = dict(BASE)
    for part in parts:
        files.update(part)
    return processes.collect(host(root, files, **{"user": 1000, "parent": 700, **changes}))


def test_a_server_its_worker_and_a_large_python(tmp_path: Path) -> None:
    facts = collect(
        tmp_path,
        proc(40, SERVER, parent=30, environ="HF_TOKEN=hf_secret CUDA_VISIBLE_DEVICES=0"),
        proc(41, "VLLM::EngineCore", parent=40, resident_kb=4 << 20, user=0),
        proc(50, "python3 /home/me/notebook.py", resident_kb=512 << 10),
        proc(51, "python3 /home/me/small.py", resident_kb=(512 << 10) - 1),
        proc(52, "vim vllm.py", resident_kb=8 << 20),
        {"/proc/30/comm": "bash\n", "/proc/40/comm": "vllm\n"},
    )
    assert facts._replace(found=(), pids=()) == Processes(True, False, True, (), ())
    nobody = Missing(NOT_FOUND)
    titled = Missing(NOT_FOUND, "a title replaced its command line")
    server, worker, python = found(facts).values()
    assert server == Process(
        *(40, "server", "vllm", 30, "bash", nobody, 1 << 20),
        *({"gpu-memory-utilization": "0.5"}, {"CUDA_VISIBLE_DEVICES": "0"}, True),
    )
    assert worker == Process(41, "worker", "vllm", 40, "vllm", 40, 4 << 30, titled, {}, False)
    assert (python.pid, python.role, python.program, python.parent_name) == (50, "other", "python", "systemd")
    assert not any(secret in json.dumps(encode_value(facts)) for secret in SECRETS)


def test_mpi_stands_between_a_server_and_its_worker(tmp_path: Path) -> None:
    """NVIDIA/TensorRT-LLM#10447: the worker is python -m mpi4py.futures.server; MPI's daemon is its parent."""
    facts = collect(
        tmp_path,
        proc(60, "/usr/bin/python3 /usr/local/bin/trtllm-serve m"),
        proc(61, "/usr/bin/orted --hnp", parent=60),
        proc(62, "/usr/bin/python -R -m mpi4py.futures.server", parent=61, resident_kb=1 << 20),
    )
    assert (found(facts)[62].parent_pid, found(facts)[62].ancestor_pid) == (61, 60)


def test_comfyui_is_known_by_its_working_folder(tmp_path: Path) -> None:
    inside = {"/proc/70/cwd/comfy/cli_args.py": ""}
    facts = collect(
        tmp_path, proc(70, "python main.py --listen", resident_kb=9), proc(71, "python main.py", resident_kb=9), inside
    )
    assert [(item.pid, item.role, item.program) for item in found(facts).values()] == [(70, "server", "comfyui")]


def test_gonogo_leaves_itself_out(tmp_path: Path) -> None:
    facts = collect(
        tmp_path,
        proc(800, "/v/bin/python3 /v/bin/gonogo check", resident_kb=1 << 20),
        proc(801, "python3 probe.py", parent=800, resident_kb=1 << 20),  # the interpreter that it looks into
        proc(810, "python3 train.py", parent=700),  # from the same shell
    )
    # What gonogo starts is marked as its own; the program itself has no line.
    assert {item.pid: item.role for item in found(facts).values()} == {801: "own", 810: "training"}


def test_a_program_that_uses_gonogo_is_its_own(tmp_path: Path) -> None:
    train = proc(800, "python3 train.py", resident_kb=1 << 20)
    assert found(collect(tmp_path / "a", train))[800].role == "own"  # forked: 900 is our child
    stat = {"/proc/self/stat": BASE["/proc/self/stat"]}
    assert found(collect(tmp_path / "b", train, stat, parent=800))[800].role == "training"  # not forked: 800 started us


def test_the_largest_and_most_telling_are_kept(tmp_path: Path) -> None:
    loaders = [proc(1000 + n, "python train.py", parent=999, resident_kb=2048) for n in range(processes.MAXIMUM)]
    facts = collect(tmp_path, proc(999, "python train.py"), proc(40, SERVER), *loaders)
    assert len(found(facts)) == processes.MAXIMUM
    assert {40, 999} <= set(found(facts))


def test_time_that_runs_out_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "BUDGET_SECONDS", -1.0)
    facts = collect(tmp_path, proc(40, SERVER))
    assert (facts.complete, facts.found) == (False, ())


@pytest.mark.parametrize("user", [0, 1000])
def test_a_container_does_not_see_the_host(tmp_path: Path, user: int) -> None:
    (tmp_path / "proc" / "7").mkdir(parents=True)
    files = {name: text for name, text in BASE.items() if not name.startswith("/proc/2/")}
    facts = processes.collect(host(tmp_path, files, user=user))
    assert isinstance(facts, Processes)
    assert (facts.host_namespace, facts.hidden_from_us) == (False, False)


def test_hidepid(tmp_path: Path) -> None:
    mount = {"/proc/self/mountinfo": "23 28 0:22 / /proc rw - proc proc rw,hidepid=2\n"}
    files = {name: text for name, text in {**BASE, **mount}.items() if not name.startswith("/proc/2/")}
    facts = processes.collect(host(tmp_path / "a", files, user=1000))
    assert isinstance(facts, Processes)
    assert (reason(facts.host_namespace), facts.hidden_from_us) == (PERMISSION_DENIED, True)
    # A member of the group that may see all does see all.
    assert collect(tmp_path / "b", mount)._replace(found=(), pids=()) == Processes(True, False, True, (), ())


def test_command_lines_that_may_not_be_read(tmp_path: Path) -> None:
    class Denied(Files):
        def read(self, path: str, limit_bytes: int = 0) -> bytes | Missing:
            return Missing(PERMISSION_DENIED) if path.endswith("cmdline") else super().read(path)

    facts = processes.collect(host(tmp_path, BASE, user=1000)._replace(files=Denied(str(tmp_path))))
    assert isinstance(facts, Processes)
    assert facts.hidden_from_us is True


def test_no_proc_and_rubbish(tmp_path: Path) -> None:
    assert reason(processes.collect(host(tmp_path / "a"))) == NOT_FOUND
    assert reason(
        processes.collect(host(tmp_path / "b", {"/proc/version": "", "/proc/²": "", "/proc/" + "9" * 40: ""}))
    )
    rubbish = {"/proc/5/status": b"\xff\0", "/proc/5/environ": b"\xff=\0", "/proc/self/stat": b"(", "/proc/6/x": ""}
    facts = collect(tmp_path / "c", {"/proc/5/cmdline": b"VLLM:\xff\0vllm"}, {**rubbish, **proc(7, SERVER)})
    assert set(found(facts)) == {7}
    gone = collect(tmp_path / "d", {"/proc/8/cmdline": b"VLLM::Worker_TP0\0"})  # ended since
    assert reason(found(gone)[8].parent_pid) == reason(found(gone)[8].same_user) == NOT_FOUND
