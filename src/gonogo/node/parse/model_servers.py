"""Which command lines and process titles are model servers, their workers, training runs or Python programs.

How they look: vLLM's and SGLang's setproctitle calls and entry points, ollama's cmd/ and llm/, TensorRT-LLM's
commands/serve.py, TGI's launcher, the launchers of torch, accelerate and deepspeed (their sources, 2026).
"""

from __future__ import annotations

import re
from typing import Any, Sequence

from gonogo.node.parse.command_line import Command, command, flags, words

SERVER, WORKER, TRAINING, OTHER = "server", "worker", "training", "other"
#: gonogo itself, in any of its forms.
OWN = "own"

#: Who sets titles.
_TITLED = {"VLLM": "vllm", "sglang": "sglang", "sglang-jax": "sglang", "ray": "ray"}

#: Modules that are programs of their own, and the name of the console script that each stands for.
_MODULES = {
    "vllm": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "vllm_omni.entrypoints.cli.main": "vllm-omni",
    "vllm.entrypoints.api_server": "vllm-server",
    "vllm.entrypoints.grpc_server": "vllm-server",
    "dynamo.vllm": "vllm-server",
    "sglang": "sglang",
    "sglang.cli.main": "sglang",
    "sglang.launch_server": "sglang-server",
    "sglang.srt.entrypoints.http_server": "sglang-server",
    "sglang_router.launch_server": "sglang-server",
    "dynamo.sglang": "sglang-server",
    "tensorrt_llm.commands.serve": "trtllm-serve",
    "dynamo.trtllm": "trtllm-serve",
    "llama_cpp.server": "llama-server",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate-launch",
    "deepspeed.launcher.runner": "deepspeed",
    "deepspeed.launcher.launch": "deepspeed",
    "axolotl": "axolotl",
    "axolotl.cli.main": "axolotl",
    "axolotl.cli.train": "axolotl-train",
    "llamafactory.cli": "llamafactory-cli",
    "llamafactory.launcher": "llamafactory-train",
    "gonogo": "gonogo",
}
#: The same as files.
_FILES = {
    "/vllm/entrypoints/openai/api_server.py": "vllm-server",
    "/sglang/launch_server.py": "sglang-server",
    "/llamafactory/launcher.py": "llamafactory-train",
}

#: Console scripts and programs: role, program, and the subcommands that make them so (none: all do).
_PROGRAMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "vllm": (SERVER, "vllm", ("serve", "run-batch")),
    "vllm-omni": (SERVER, "vllm", ("serve",)),
    "vllm-server": (SERVER, "vllm", ()),
    "sglang": (SERVER, "sglang", ("serve",)),
    "sglang-server": (SERVER, "sglang", ()),
    "trtllm-serve": (SERVER, "tensorrt-llm", ()),
    "llama-server": (SERVER, "llama.cpp", ()),
    "llama-cli": (SERVER, "llama.cpp", ()),
    "text-generation-launcher": (SERVER, "tgi", ()),
    "text-generation-server": (WORKER, "tgi", ("serve",)),
    "tritonserver": (SERVER, "triton", ()),
    "triton_python_backend_stub": (WORKER, "triton", ()),
    "comfyui": (SERVER, "comfyui", ()),
    "torchrun": (TRAINING, "torchrun", ()),
    "accelerate": (TRAINING, "accelerate", ("launch",)),
    "accelerate-launch": (TRAINING, "accelerate", ()),
    "deepspeed": (TRAINING, "deepspeed", ()),
    "axolotl": (TRAINING, "axolotl", ("train",)),
    "axolotl-train": (TRAINING, "axolotl", ()),
    "llamafactory-cli": (TRAINING, "llamafactory", ("train",)),
    "llamafactory-train": (TRAINING, "llamafactory", ()),
    "gonogo": (OWN, "gonogo", ()),
}
_OLLAMA = {"serve": SERVER, "start": SERVER, "runner": WORKER}
_TRL_TRAINING = ("sft", "dpo", "grpo", "kto", "reward", "rloo")

#: Words of a script's name that make it training. Whole words: constrain.py and trainable.py are none.
_TRAINING_WORDS = frozenset(
    [
        *("train", "trainer", "training", "pretrain", "pretraining", "retrain"),
        *("finetune", "finetuner", "finetuning"),
    ]
)
#: Words of train_gpt2, trainLoRA, LoRATrainer.
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"


def classify(cmdline: bytes) -> dict[str, Any] | None:
    """``role``, ``program`` and ``flags`` of a /proc/PID/cmdline, or None where it is nothing of the kind.

    ``flags`` is None where a title stands in the place of the command line. ``maybe`` is comfyui where the working
    folder has to decide. Plain data, and nothing else of the command line.
    """
    arguments = words(cmdline)
    if not arguments:
        return None
    owner, titled, name = arguments[0].partition("::")
    if titled and owner in _TITLED:
        return _of_title(_TITLED[owner], name)
    runs = command(arguments)
    role, program = _program(runs)
    if role == OWN:
        return {"role": OWN}
    if role:
        more = {"c": "ctx-size"} if program == "llama.cpp" else {}
        kept = flags(runs.arguments, role != TRAINING, more)  # a launcher's flags stand before its script's
        return {"role": role, "program": program, "flags": kept}
    if not runs.interpreted:
        return None
    if runs.path and runs.name == "main.py":
        return {"role": OTHER, "program": "python", "flags": flags(runs.arguments), "maybe": "comfyui"}
    return {"role": OTHER, "program": "python", "flags": None}


def _of_title(owner: str, name: str) -> dict[str, Any] | None:
    """VLLM::EngineCore_DP0, VLLM::Worker_TP0, sglang::scheduler_TP0, ray::RayWorkerWrapper.execute_method."""
    if owner == "ray":
        role = WORKER if name.startswith("RayWorker") else OTHER
        return None if name.startswith("IDLE") else {"role": role, "program": "ray", "flags": None}
    serves = name.startswith("APIServer") if owner == "vllm" else name in ("server", "http_server")
    return {"role": SERVER if serves else WORKER, "program": owner, "flags": None}


def _console_script(runs: Command) -> str:
    """The name of the console script that a module or a file stands for, "" for none."""
    module = runs.module
    if module:
        if module.startswith("vllm") and module.endswith(".entrypoints.openai.api_server"):  # NIM's vllm_nvext too
            return "vllm-server"
        return "gonogo" if module.startswith("gonogo.") else _MODULES.get(module, "")
    if runs.name.startswith(("gonogo.", "gonogo-")):
        return "gonogo"
    if runs.name == "main.py" and runs.path.lower().rpartition("/")[0].rpartition("/")[2].startswith("comfyui"):
        return "comfyui"
    return next((name for end, name in _FILES.items() if ("/" + runs.path).endswith(end)), runs.name)


def _program(runs: Command) -> tuple[str, str]:
    """Role and program, or two empty texts."""
    name = _console_script(runs)
    if name == "ollama" and not runs.interpreted:
        return _OLLAMA.get(_first(runs.arguments), ""), "ollama"
    if name == "ollama_llama_server" or (name == "llama-server" and "/lib/ollama/" in runs.path):  # its runners
        return WORKER, "ollama"
    if name == "trl":
        first = _first(runs.arguments)
        return (SERVER, "vllm") if first == "vllm-serve" else (TRAINING if first in _TRL_TRAINING else "", "python")
    if name == "trtllm-serve" and _first(runs.arguments) == "disaggregated":  # passes requests on, without a GPU
        return "", ""
    if name in _PROGRAMS:
        role, program, subcommands = _PROGRAMS[name]
        return (role, program) if not subcommands or _first(runs.arguments) in subcommands else ("", "")
    if runs.interpreted and _trains(runs):
        return TRAINING, "python"
    return "", ""


def _first(arguments: Sequence[str]) -> str:
    return arguments[0] if arguments else ""


def _trains(runs: Command) -> bool:
    """A script or module with train or finetune as a word of its name, and no test of one."""
    if runs.module:
        stem = runs.module.rpartition(".")[2]
    elif runs.name.endswith(".py"):
        stem = runs.name[:-3]
    else:
        return False
    found = [word.lower() for word in re.findall(_WORD, stem)]
    pairs = {first + second for first, second in zip(found, found[1:])}  # fine_tune, pre-train
    return not {"test", "tests"} & set(found) and bool(_TRAINING_WORDS & {*found, *pairs})
