"""What command lines are. Those here are from the programs' documentation, playbooks and reports, as ps shows them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.node.parse import command_line
from gonogo.node.parse.model_servers import classify


def line(text: str) -> bytes:
    """/proc/PID/cmdline of a line without quotes."""
    return text.replace(" ", "\0").encode() + b"\0"


def role_of(cmdline: bytes) -> tuple[str, str] | None:
    found = classify(cmdline)
    return None if found is None else (found["role"], found.get("program", ""))


VENV = "/home/me/.venv/bin/python3 /home/me/.venv/bin/"

KNOWN = {
    # vLLM: docs, vllm-project/vllm#43060, NVIDIA's playbooks
    VENV + "vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.5": ("server", "vllm"),
    "/usr/bin/python3 -m vllm.entrypoints.openai.api_server --model a": ("server", "vllm"),
    "python3 -m vllm.entrypoints.api_server --model a": ("server", "vllm"),
    "/workspace/.venv/bin/python3 -m vllm_omni.entrypoints.cli.main serve /m --omni": ("server", "vllm"),
    "python -m dynamo.vllm --model a": ("server", "vllm"),
    VENV + "vllm run-batch -i in.jsonl": ("server", "vllm"),
    VENV + "trl vllm-serve --model a": ("server", "vllm"),
    "VLLM::EngineCore": ("worker", "vllm"),
    "VLLM::EngineCore_DP0": ("worker", "vllm"),
    "VLLM::StageEngineCoreProc_DP0": ("worker", "vllm"),
    "VLLM::Worker_TP0": ("worker", "vllm"),
    "VLLM::APIServer_0": ("server", "vllm"),
    # SGLang
    "python3 -m sglang.launch_server --model-path a --tp 2": ("server", "sglang"),
    VENV + "sglang serve --model-path a": ("server", "sglang"),
    "python3 /sgl-workspace/sglang/python/sglang/launch_server.py --model-path a": ("server", "sglang"),
    "sglang::scheduler_TP0": ("worker", "sglang"),
    "sglang::detokenizer": ("worker", "sglang"),
    "sglang::server": ("server", "sglang"),
    # TensorRT-LLM: NVIDIA/TensorRT-LLM#10447, playbooks
    VENV + "trtllm-serve nvidia/Llama-3.1-8B --backend pytorch": ("server", "tensorrt-llm"),
    VENV + "trtllm-serve serve Qwen/Qwen2-VL-7B-Instruct": ("server", "tensorrt-llm"),
    "python -m tensorrt_llm.commands.serve /model/Qwen3": ("server", "tensorrt-llm"),
    "/usr/bin/python -R -m mpi4py.futures.server": ("other", "python"),
    # Ollama: cmd/ and llm/
    "/usr/local/bin/ollama serve": ("server", "ollama"),
    "/bin/ollama start": ("server", "ollama"),
    "/usr/local/bin/ollama runner --ollama-engine --model /m --port 3": ("worker", "ollama"),
    "/usr/local/lib/ollama/llama-server --model /m --port 3": ("worker", "ollama"),
    # llama.cpp, ComfyUI, TGI, Triton
    "./build/bin/llama-server -m q.gguf -ngl 99": ("server", "llama.cpp"),
    "llama-cli -m q.gguf": ("server", "llama.cpp"),
    "python3 -m llama_cpp.server --model a": ("server", "llama.cpp"),
    "python /opt/ComfyUI/main.py --listen 0.0.0.0": ("server", "comfyui"),
    "python3 -s ComfyUI/main.py --lowvram": ("server", "comfyui"),
    "text-generation-launcher --model-id a": ("server", "tgi"),
    "/opt/conda/bin/python3.10 /opt/conda/bin/text-generation-server serve a --uds-path /t": ("worker", "tgi"),
    "tritonserver --model-repository=/m": ("server", "triton"),
    "/opt/tritonserver/backends/python/triton_python_backend_stub /m/1/model.py t": ("worker", "triton"),
    # Ray
    "ray::RayWorkerWrapper.execute_method": ("worker", "ray"),
    "ray::PPOTrainer.fit": ("other", "ray"),
    # Training
    VENV + "torchrun --nproc-per-node=1 pretrain_llama.py": ("training", "torchrun"),
    "python3 -m torch.distributed.run --nproc_per_node 2 main.py": ("training", "torchrun"),
    VENV + "accelerate launch --num_processes 2 x.py": ("training", "accelerate"),
    VENV + "deepspeed --num_gpus=1 x.py": ("training", "deepspeed"),
    "/usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=e30= x.py": ("training", "deepspeed"),
    VENV + "axolotl train a.yaml": ("training", "axolotl"),
    "python -m axolotl.cli.train a.yaml": ("training", "axolotl"),
    VENV + "llamafactory-cli train a.yaml": ("training", "llamafactory"),
    VENV + "trl sft --model a": ("training", "python"),
    "python -u train.py --lr 1": ("training", "python"),
    "python3 -W ignore -X utf8 /w/qlora_finetune.py": ("training", "python"),
    "python3 -um scripts.base_train --depth 4": ("training", "python"),
    "python fine-tune.py": ("training", "python"),
    "python trainLoRA.py": ("training", "python"),
    "pypy3 pretraining_gpt2.py": ("training", "python"),
}


@pytest.mark.parametrize("text", KNOWN)
def test_what_is_known(text: str) -> None:
    assert role_of(line(text)) == KNOWN[text]


NONE_OF_IT = [
    *(
        "grep vllm",
        "vim vllm.py",
        "tail -f train.log",
        "sudo vllm serve m",
        "less /opt/ComfyUI/main.py",
        "nano train.py",
    ),
    *(
        "docker run --gpus all vllm/vllm-openai vllm serve m",
        "ssh spark vllm serve m",
        "watch ollama ps",
        "uv run train.py",
    ),
    *("ollama run llama3", "ollama pull llama3", "pgrep -af VLLM::EngineCore", "kubectl exec p -- vllm serve m"),
    *("mpirun -n 2 trtllm-serve m", "bash /usr/local/bin/trtllm-llmapi-launch trtllm-serve m", "nohup", "ray::IDLE"),
    *("text-generation-router --port 80", "containerd-shim-runc-v2 -id vllm", "journalctl -u ollama", "", "\0\0"),
]


@pytest.mark.parametrize("text", NONE_OF_IT)
def test_what_only_speaks_of_it(text: str) -> None:
    assert classify(line(text)) is None


def test_a_shell_is_not_the_server_that_it_starts() -> None:
    assert classify(b"bash\0-c\0vllm serve m --port 8000\0") is None
    assert classify(b"/bin/sh\0-c\0exec python train.py\0") is None


ONLY_PYTHON = [
    *(
        "python -m pip install vllm",
        "python3 /usr/bin/pip install vllm",
        "python -m pytest test_train.py",
        "python constrain.py",
    ),
    *("python3 /usr/bin/pytest test_train.py", "python trainable.py", "python3 train.log", "python strain_gauge.py"),
    *("python -c train", "python3", "python3 - train.py", "python test_train.py", "python -m http.server", "python -m"),
    *(
        "python3 /v/bin/vllm bench serve",
        "python3 /v/bin/vllm",
        "python /v/bin/accelerate config",
        "python app/main.py",
    ),
    *(
        "python /v/bin/trtllm-serve disaggregated -c a.yaml",
        "python -m debugpy train.py",
        "python -X",
        "python -Wignore",
    ),
    "python3 /v/bin/llamafactory-cli webui",
]


@pytest.mark.parametrize("text", ONLY_PYTHON)
def test_what_is_only_python(text: str) -> None:
    assert role_of(line(text)) == ("other", "python")


@pytest.mark.parametrize(
    "text",
    [VENV + "gonogo check", "python3 -m gonogo check", "python3 dist/gonogo-collect.pyz", "python -m gonogo.node"],
)
def test_gonogo_knows_itself(text: str) -> None:
    assert classify(line(text)) == {"role": "own"}


def test_main_py_may_be_comfyui() -> None:
    found = classify(line("python main.py --listen 0.0.0.0 --port 8188 --reserve-vram 4"))
    assert found == {"role": "other", "program": "python", "flags": {"reserve-vram": "4"}, "maybe": "comfyui"}


def test_a_title_padded_as_setproctitle_leaves_it() -> None:
    assert classify(b"VLLM::EngineCore" + bytes(200)) == {"role": "worker", "program": "vllm", "flags": None}


# -- flags ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--gpu-memory-utilization 0.5", {"gpu-memory-utilization": "0.5"}),
        ("--gpu_memory_utilization=0.5", {"gpu-memory-utilization": "0.5"}),
        ("-tp 2 -pp=1 --dp 4", {"tensor-parallel-size": "2", "pipeline-parallel-size": "1", "data-parallel-size": "4"}),
        ("--tp-size 2 --mem-fraction-static .8", {"tensor-parallel-size": "2", "mem-fraction-static": ".8"}),
        ("--kv_cache_free_gpu_mem_fraction 0.7", {"kv-cache-free-gpu-memory-fraction": "0.7"}),
        ("--free_gpu_memory_fraction 0.7", {"kv-cache-free-gpu-memory-fraction": "0.7"}),
        ("--lowvram --enforce-eager --highvram", {"lowvram": "true", "enforce-eager": "true", "highvram": "true"}),
        ("--n-gpu-layers -1", {"n-gpu-layers": "-1"}),
        ("--kv-cache-memory-bytes --port 80", {"kv-cache-memory-bytes": ""}),
        ("--quantization", {"quantization": ""}),
        (
            "--gpu-memory-util .5 --kv-cache-mem 1g --kv-ca x",
            {"gpu-memory-utilization": ".5", "kv-cache-memory-bytes": "1g"},
        ),
        ("--quantization /home/me/secret", {"quantization": ""}),
        ("--kv-cache-dtype " + "f" * 33, {"kv-cache-dtype": ""}),
        ("--config /home/me/secret.yaml", {"config": "set"}),
        ("--extra_llm_api_options s.yaml", {"config": "set"}),
        ("--gpu-memory-utilization 0.9 --gpu-memory-utilization 0.3", {"gpu-memory-utilization": "0.3"}),
        ("--api-key hf_secret --host 10.0.0.1 --no-enforce-eager -q x", {}),
    ],
)
def test_flags(text: str, expected: dict[str, str]) -> None:
    assert command_line.flags(text.split(" ")) == expected


def test_short_flags_of_llama_cpp_alone() -> None:
    found = classify(line("llama-server -m q.gguf -c 8192 -ngl 99"))
    assert found and found["flags"] == {"ctx-size": "8192", "n-gpu-layers": "99"}
    found = classify(line(VENV + "deepspeed -c 3 x.py"))
    assert found and found["flags"] == {}


def test_a_launchers_flags_stand_before_its_scripts() -> None:
    found = classify(line(VENV + "torchrun --nproc-per-node=2 --nnodes 2 x.py --nnodes 7"))
    assert found and found["flags"] == {"nproc-per-node": "2", "nnodes": "2"}


def test_environment() -> None:
    environ = (
        b"HF_TOKEN=hf_secret\0OLLAMA_KEEP_ALIVE=-1m\0OLLAMA_HOST=10.0.0.1\0CUDA_VISIBLE_DEVICES=0,1\0LOCAL_RANK=0\0"
        b"OLLAMA_CONTEXT_LENGTH=64000\0=x\0nothing\0OLLAMA_NUM_PARALLEL=/secret\0"
    )
    assert command_line.variables(environ) == {
        "OLLAMA_KEEP_ALIVE": "-1m",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "LOCAL_RANK": "0",
        "OLLAMA_CONTEXT_LENGTH": "64000",
        "OLLAMA_NUM_PARALLEL": "",
    }
    uuid = b"CUDA_VISIBLE_DEVICES=GPU-8932f937-d72c-4106-c12f-20bd9faed9f6\0"
    assert command_line.variables(uuid) == {"CUDA_VISIBLE_DEVICES": "set"}  # a card's id is private
    assert command_line.variables(b"CUDA_VISIBLE_DEVICES=\0") == {"CUDA_VISIBLE_DEVICES": ""}


# -- the other files of /proc -----------------------------------------------------------------------------------------


def test_status() -> None:
    """proc_pid_status(5): Uid is real, effective, saved and of the filesystem; VmRSS in kB."""
    text = b"Name:\tVLLM::EngineCor\nPid:\t9\nPPid:\t7\nTracerPid:\t0\nUid:\t1000\t0\t0\t0\nVmRSS:\t  2048 kB\n"
    assert command_line.status(text) == {"parent": 7, "user": 0, "resident": 2097152}
    assert command_line.status(b"") == command_line.status(b"\xff\0PPid:\tx\n") == {}


@pytest.mark.parametrize(
    ("comm", "expected"),
    [
        *((b"systemd\n", "systemd"), (b"containerd-shim\n", "containerd-shim"), (b"bash\n", "bash")),
        *((b"python3.12\n", "python"), (b"pt_main_thread\n", "python"), (b"tmux: server\n", "tmux")),
        *((b"my secret\n", "other"), (b"\xff\n", "other"), (b"", "other"), (b"systemd-evil\n", "other")),
    ],
)
def test_names_of_processes(comm: bytes, expected: str) -> None:
    assert command_line.process_name(comm) == expected


@pytest.mark.parametrize(
    ("option", "hides"),
    [
        *(
            ("", False),
            (",hidepid=0", False),
            (",hidepid=off", False),
            (",hidepid=1", True),
            (",hidepid=2,gid=9", True),
        ),
        *((",hidepid=invisible", True), (",hidepid=ptraceable", True), (",hidepid=noaccess", True)),
    ],
)
def test_hidepid(option: str, hides: bool) -> None:
    """proc(5), mount options: by number until Linux 5.7, by name or number since."""
    mounts = (
        "22 28 0:21 / /sys rw - sysfs sysfs rw,hidepid=2\n"
        f"23 28 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw{option}\n"
    )
    assert command_line.hides_processes(mounts.encode()) is hides
    # What is mounted over it later is what is seen.
    assert command_line.hides_processes((mounts + "99 23 0:30 / /proc rw - proc proc rw\n").encode()) is False


WORDS = ["python3", "-m", "vllm", "serve", "--tp", "-c", "train.py", "-W", "VLLM::", "", "\0", "=", "--config"]


@given(st.binary(max_size=400) | st.lists(st.sampled_from(WORDS)).map(lambda words: "\0".join(words).encode()))
def test_arbitrary_bytes_never_raise_and_give_plain_data(content: bytes) -> None:
    found = classify(content)
    assert json.loads(json.dumps(found)) == found
    assert found is None or set(found) <= {"role", "program", "flags", "maybe"}
    command_line.variables(content)
    command_line.status(content)
    command_line.process_name(content)
    command_line.hides_processes(content)


def test_a_huge_command_line_is_cut() -> None:
    huge = line(VENV + "vllm serve m ") + b"a\0" * 2_000_000
    assert role_of(huge) == ("server", "vllm")
