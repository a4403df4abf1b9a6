"""How much a neighbour may still take of the GPU's memory.

Defaults and meanings of the flags: vLLM's config/cache.py, SGLang's server arguments, TensorRT-LLM's and TGI's
documentation of their commands, ollama's envconfig (2026).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gonogo.gotchas.g06_other_processes.neighbours import Neighbour
from gonogo.node.facts.missing import known
from gonogo.node.facts.sections.processes import Process
from gonogo.units import GIB, gib

#: A neighbour without a cap that is smaller needs no word: a LoRA of less than 4 GB beside vLLM at 0.5 ran cleanly
#: (wshobson/agents, dgx-spark-ops).
SMALL_BYTES = 4 * GIB
#: vLLM's --gpu-memory-utilization without the flag; 0.92 in releases of 2026.
VLLM_SHARE = 0.9
#: A server of TensorRT-LLM that holds as much has taken its share of what was free.
STARTED_BYTES = 1 * GIB

CAPPED, UNCAPPED, FIXED, UNSEEN, SMALL, IDLE = "capped", "uncapped", "fixed", "unseen", "small", "idle"


class Promise(NamedTuple):
    """``final_bytes`` is what it ends up with; None where nothing tells. ``words`` says why."""

    kind: str
    final_bytes: int | None
    words: str


class Judged(NamedTuple):
    """A neighbour and what it promises; of a card with memory of its own ``card`` is the number."""

    neighbour: Neighbour
    promise: Promise
    card: int | None = None

    @property
    def held_bytes(self) -> int:
        """Of the pool or of the card."""
        return self.neighbour.held_bytes if self.card is None else self.neighbour.on.get(self.card, 0)

    @property
    def growth_bytes(self) -> int:
        """What it may still take on top; nothing where one of the two figures is not known."""
        final = self.promise.final_bytes
        return 0 if final is None or not self.neighbour.measured else max(0, final - self.held_bytes)


def judge(neighbour: Neighbour, total_bytes: int | None, room_bytes: int | None, card: int | None = None) -> Judged:
    """What it may take of a pool, or of a ``card``, with ``total_bytes``, ``room_bytes`` of it to be had."""
    held = neighbour.held_bytes if card is None else neighbour.on.get(card, 0)
    return Judged(neighbour, _promise(neighbour, held, total_bytes, room_bytes), card)


def _promise(neighbour: Neighbour, held: int, total_bytes: int | None, room_bytes: int | None) -> Promise:
    root, program = neighbour.root, neighbour.program
    if root.role == "worker" or (root.role == "other" and program != root.program):
        return Promise(UNSEEN, held, "its cap is on no command line here")
    if root.role != "server":
        words = "training" if root.role == "training" else ""
        return Promise(SMALL, held, words) if held < SMALL_BYTES else Promise(UNCAPPED, None, words)
    if program in ("llama.cpp", "triton"):
        return Promise(FIXED, held, "takes its memory when it loads")
    if program in ("ollama", "comfyui"):
        return _on_demand(root, held, neighbour.measured)
    return _by_flags(root, program, held, total_bytes, room_bytes)


def _on_demand(root: Process, held: int, measured: bool) -> Promise:
    """Ollama and ComfyUI know no cap; while they hold nothing they harm nobody."""
    if not held:
        return Promise(IDLE if measured else UNSEEN, None, "loads models on demand")
    keep = (known(root.environment) or {}).get("OLLAMA_KEEP_ALIVE", "")
    forever = re.match(r"-[0-9.]*[1-9]", keep) is not None  # -0 is no duration below zero
    return Promise(UNCAPPED, None, f"never gives it back: OLLAMA_KEEP_ALIVE={keep}" if forever else "")


def _by_flags(root: Process, program: str, held: int, total: int | None, room: int | None) -> Promise:
    flags = known(root.flags)
    if flags is None:
        return Promise(UNSEEN, held, "its cap is on no command line here")
    size = bytes_of(flags.get("kv-cache-memory-bytes", ""))
    if program == "vllm" and size is not None:
        return Promise(CAPPED, max(held, size), f"--kv-cache-memory-bytes {flags['kv-cache-memory-bytes']}")
    name = {
        "vllm": "gpu-memory-utilization",
        "sglang": "mem-fraction-static",
        "tensorrt-llm": "kv-cache-free-gpu-memory-fraction",
        "tgi": "cuda-memory-fraction",
    }.get(program, "")
    variables = known(root.environment)
    given = flags.get(name)
    if given is None and program == "tgi":
        given = None if variables is None else variables.get("CUDA_MEMORY_FRACTION", "1.0")
        if given is None:
            return Promise(UNSEEN, held, "its cap may stand in its environment, which may not be read")
    share = None if given is None else fraction_of(given)
    if given is not None and share is None:
        return Promise(UNSEEN, held, f"--{name} is set to what cannot be read")
    if share is not None and not (program == "tgi" and share == 1.0):
        words = f"--{name} {given}"
        if program == "tensorrt-llm":  # a share of what was free when it started
            final = held if held >= STARTED_BYTES or room is None else held + int(share * room)
            return Promise(CAPPED, final, words)
        return Promise(CAPPED, None if total is None else int(share * total), words)
    if "config" in flags:
        return Promise(UNSEEN, held, "its cap may stand in its configuration file")
    if program == "vllm" and total is not None:
        return Promise(UNCAPPED, int(VLLM_SHARE * total), f"takes {gib(int(VLLM_SHARE * total))} GiB by default")
    return Promise(UNCAPPED, None, "")


def bytes_of(text: str) -> int | None:
    """A size as vLLM reads it: plain, with a small letter for powers of 1000, with a capital one for powers of 1024."""
    read = re.match(r"([0-9]{1,15})(\.[0-9]{1,6})?([kmgtKMGT]?)B?$", text, re.ASCII)
    if not read:
        return None
    whole, fraction, letter = read.groups()
    power = " kmgt".index(letter.lower()) if letter else 0
    return int(float(whole + (fraction or "")) * (1000 if letter.islower() else 1024) ** power)


def fraction_of(text: str) -> float | None:
    """A share above 0 and up to 1."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 < value <= 1.0 else None
