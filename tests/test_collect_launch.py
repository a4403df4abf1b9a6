"""The launch environment: which variables are kept, and how much of each. Expected values stand in the environments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_host import host

from gonogo.node import launch_variables
from gonogo.node.collect import launch
from gonogo.node.facts.codec import encode_value
from gonogo.node.ports import recording

ENVIRONMENT = {
    "WORLD_SIZE": "2",
    "NCCL_IB_HCA": "rocep1s0f0,roceP2p1s0f0",
    "CUDA_VISIBLE_DEVICES": "",
    "OLLAMA_MAX_LOADED_MODELS": "1",
    "SLURM_NNODES": "2",
    "PATH": "/usr/bin",
    "HOME": "/root",
    "SECRET_OF_MINE": "x",
}


def test_relevant_variables_and_no_others(tmp_path: Path) -> None:
    into = recording.empty()
    made = recording.recording_host(host(tmp_path, environment=ENVIRONMENT), into)
    expected = {name: value for name, value in ENVIRONMENT.items() if name not in ("PATH", "HOME", "SECRET_OF_MINE")}
    assert launch.collect(made).variables == expected
    assert not {"PATH", "HOME", "SECRET_OF_MINE"} & set(into["environment"])
    assert launch.collect(recording.replayed_host(json.loads(json.dumps(into)))).variables == expected


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("MASTER_ADDR", "10.0.0.2", "set"),
        ("MASTER_ADDR", "spark-b.example.org", "set"),
        ("MASTER_ADDR", "127.0.0.1", "loopback"),
        ("MASTER_ADDR", "127.0.1.1", "loopback"),
        ("MASTER_ADDR", "127.0.0.1.example.org", "set"),
        ("MASTER_ADDR", "localhost", "loopback"),
        ("MASTER_ADDR", "localhost.example.org", "set"),
        ("MASTER_ADDR", "::1", "loopback"),
        ("MASTER_ADDR", "fe80::1", "set"),
        ("MASTER_ADDR", "", ""),
        ("VLLM_HOST_IP", "192.168.100.10", "set"),
        ("SGLANG_HOST_IP", "192.168.100.10", "set"),
        ("RAY_ADDRESS", "ray://10.0.0.2:10001", "set"),
        ("RAY_ADDRESS", "ray://127.0.0.1:10001", "loopback"),
        ("OLLAMA_HOST", "0.0.0.0:11434", "set"),
        ("OLLAMA_HOST", "http://localhost:11434/", "loopback"),
        ("OLLAMA_HOST", "[::1]:11434", "loopback"),
        ("OLLAMA_ORIGINS", "https://example.org", "set"),
        ("NCCL_COMM_ID", "10.0.0.2:4242", "set"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.0/8", "set"),
        ("NCCL_HOSTID", "spark-a", "set"),
        ("SLURM_NODELIST", "spark-[a-b]", "set"),
        ("SLURM_NODE_ALIASES", "a:10.0.0.1:a", "set"),
        ("NCCL_SOCKET_IFNAME", "enp1s0f0np0", "enp1s0f0np0"),
        ("NCCL_DEBUG_FILE", "x" * 300, "x" * 200),
        ("NCCL_DEBUG", "\udcff\n", "?\n"),
    ],
)
def test_how_much_is_kept(name: str, value: str, kept: str, tmp_path: Path) -> None:
    assert launch.collect(host(tmp_path, environment={name: value})).variables == {name: kept}
    assert launch_variables.kept(name, kept) == kept  # a recording gives the same facts


@pytest.mark.parametrize("name", ["OLLAMA_API_KEY", "NCCL_AUTH_TOKEN", "UCX_SECRET", "CUDA_PASSWORD", "nccl_debug"])
def test_what_is_secret_or_foreign_is_left_out(name: str, tmp_path: Path) -> None:
    assert launch.collect(host(tmp_path, environment={name: "x"})).variables == {}


def test_under_sudo_the_callers_own_variables_count(tmp_path: Path) -> None:
    """sudo(8) drops them; its own process still has them."""
    files: dict[str, str | bytes | None] = {
        "/proc/70/comm": "sudo\n",
        "/proc/70/environ": b"WORLD_SIZE=2\0MASTER_ADDR=10.0.0.2\0HF_TOKEN=hf_x\0OLLAMA_API_KEY=x\0",
    }
    made = host(tmp_path, files, environment={"SUDO_UID": "1000", "SUDO_GID": "1000", "WORLD_SIZE": ""}, parent=70)
    assert launch.collect(made).variables == {"WORLD_SIZE": "2", "MASTER_ADDR": "set"}


@given(st.dictionaries(st.text(max_size=20).map(lambda text: f"NCCL_{text}"), st.text(max_size=400), max_size=8))
def test_no_environment_breaks_it(environment: dict[str, str]) -> None:
    facts = launch.collect(host(Path("/nonexistent"), environment=environment))
    text = json.dumps(encode_value(facts))
    text.encode("utf-8")
    assert all(len(value) <= 200 for value in json.loads(text)["variables"].values())


def test_an_endless_environment_is_cut(tmp_path: Path) -> None:
    environment = {f"NCCL_{number:05}": "1" for number in range(5000)}
    found = launch.collect(host(tmp_path, environment=environment)).variables
    assert isinstance(found, dict) and list(found) == [f"NCCL_{number:05}" for number in range(256)]


def test_a_real_process_tells_what_its_shell_exported() -> None:
    """The oracle is the shell's own env(1), asked beside it."""
    code = (
        "from gonogo.node.ports.host import live_host; from gonogo.node.collect.launch import collect; import json;"
        "print(json.dumps(dict(collect(live_host()._replace(user=1)).variables)))"
    )
    script = (
        f'export NCCL_IB_HCA="=mlx5_0:1" NNODES=3 MASTER_ADDR=node; env | grep -E "^(NCCL|NNODES)"; "$0" -c \'{code}\''
    )
    clean = {key: value for key, value in os.environ.items() if not launch_variables.relevant(key)}
    done = subprocess.run(["sh", "-c", script, sys.executable], env=clean, capture_output=True, text=True, check=True)
    *listed, facts = done.stdout.splitlines()
    assert json.loads(facts) == {**dict(line.split("=", 1) for line in listed), "MASTER_ADDR": "set"}
