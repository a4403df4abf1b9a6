"""Processes that may hold the GPU's memory: model servers, their workers, training runs, large Python programs.

Command lines are not kept: only whitelisted flags and variables with their values.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Process(NamedTuple):
    """One process. ``role`` is server, worker (a server's child that computes), training, own (a program that uses
    gonogo as a library) or other.

    ``program`` is vllm, sglang, tensorrt-llm, ollama, llama.cpp, comfyui, tgi, triton, ray, torchrun, accelerate,
    deepspeed, axolotl, llamafactory or python. ``parent_name`` is the parent's own short name (comm), "other" where it
    is none that tells: a worker under init or a session manager has lost the server that started it. ``ancestor_pid``
    is the nearest ancestor among the processes found.
    """

    pid: int
    role: str
    program: str
    parent_pid: int | Missing = UNCOLLECTED
    parent_name: str | Missing = UNCOLLECTED
    ancestor_pid: int | Missing = UNCOLLECTED
    resident_bytes: int | Missing = UNCOLLECTED  # in system memory; CUDA's is counted by NVML
    flags: Mapping[str, str] | Missing = UNCOLLECTED
    environment: Mapping[str, str] | Missing = UNCOLLECTED
    same_user: bool | Missing = UNCOLLECTED


class Processes(NamedTuple):
    """``host_namespace``: the kernel's own threads are visible, so these are the whole machine's processes.

    ``hidden_from_us``: /proc is mounted so that other users' processes cannot be seen (hidepid). ``complete`` is False
    where the time for reading /proc ran out.
    """

    host_namespace: bool | Missing = UNCOLLECTED
    hidden_from_us: bool | Missing = UNCOLLECTED
    complete: bool | Missing = UNCOLLECTED
    pids: tuple[int, ...] | Missing = UNCOLLECTED  # of every process seen, also of those that are none of ours
    found: tuple[Process, ...] | Missing = UNCOLLECTED
