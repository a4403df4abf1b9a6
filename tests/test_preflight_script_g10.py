"""G10 of the skill's preflight.sh: launch files that set tensor parallelism above 1, and what only looks like it.

Spellings are those of the engines' own documents: vLLM (--tensor-parallel-size, -tp, underscores taken for dashes),
SGLang (--tp, --tp-size), TensorRT-LLM (--tp_size, tensor_parallel_size), Megatron (--tensor-model-parallel-size),
NeMo (tensor_model_parallel_size), TorchTitan (tensor_parallel_degree), transformers (tp_size).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from preflight_script import Box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "box")


SETTINGS = [
    ("a.yaml", "model: m\ntensor_parallel_size: 2\n"),
    ("a.yml", "engine:\n    tensor_parallel_size: 4   # both boxes\n"),
    ("a.yaml", "- tensor_parallel_size: 2\n"),
    ("a.yaml", "tensor_parallel_size: '2'\n"),
    ("a.yaml", 'tensor_parallel_size: "16"\n'),
    ("a.yaml", "tensor_model_parallel_size: 2\n"),
    ("a.yaml", "tensor-parallel-size: 2\n"),
    ("a.yaml", "tp_size: 8"),
    ("a.yaml", "engine: {model: m, tensor_parallel_size: 2}\n"),
    ("a.yaml", "command: vllm serve m --tensor-parallel-size 2\n"),
    ("a.yaml", 'args: ["serve", "--tensor-parallel-size=2"]\n'),
    ("a.yaml", 'args: ["serve", "--tensor-parallel-size", "2"]\n'),
    ("a.json", '{\n  "tensor_parallel_size": 4\n}\n'),
    ("a.json", '{"model": "m", "tensor_parallel_size": 4}'),
    ("a.json", '{"tensor_parallel_size":10}'),
    ("a.json", '{"build": {"max_batch_size": 8}, "tp_size": 2}'),
    ("a.yaml", 'engine: {model: "org/m", tensor_parallel_size: 2}\n'),
    ("a.toml", "[parallelism]\ntensor_parallel_degree = 2\n"),
    ("a.toml", "tp_size=32\n"),
    ("a.sh", "vllm serve m --tensor-parallel-size 2\n"),
    ("a.sh", "vllm serve m --tensor-parallel-size=2\n"),
    ("a.sh", "vllm serve m --tensor-parallel-size  '2' \\\n  --port 8000\n"),
    ("a.sh", "vllm serve m \\\n\t--tensor-parallel-size 2"),
    ("a.sh", "vllm serve m --tensor_parallel_size 2\n"),
    ("a.sh", "vllm serve m -tp 2\n"),
    ("a.sh", "python3 -m sglang.launch_server --model m --tp 2 --nnodes 2\n"),
    ("a.sh", "python3 -m sglang.launch_server --model m --tp-size 2\n"),
    ("a.sh", "mpirun -np 2 trtllm-llmapi-launch trtllm-serve m --tp_size 2\n"),
    ("a.sh", "torchrun pretrain.py --tensor-model-parallel-size 2\r\n"),
    ("deep/in/the/tree/a.yaml", "tensor_parallel_size: 2\n"),
    (".config/a.yaml", "tensor_parallel_size: 2\n"),
]


@pytest.mark.parametrize(("name", "text"), SETTINGS)
def test_a_setting_above_one_is_a_warning(box: Box, name: str, text: str) -> None:
    box.file(name, text)
    line = box.lines("--strict", status=1)["G10"]  # 1: no GPU here
    assert line.status == "WARN"
    assert name in line.message
    # Wrong for training over two Sparks, fine for serving: the line must not call every use a fault.
    assert "training" in line.message and "serving" in line.message


LOOK_ALIKES = [
    ("a.yaml", "tensor_parallel_size: 1\ntp_size: 1\n"),
    ("a.yaml", "tensor_parallel_size: 1.5\n"),
    ("a.yaml", "tensor_parallel_size: 2.5\n"),
    ("a.yaml", "tensor_parallel_size: 0\n"),
    ("a.yaml", "tensor_parallel_size: auto\n"),
    ("a.yaml", "tensor_parallel_size:\n"),
    ("a.yaml", "# tensor_parallel_size: 2\n"),
    ("a.yaml", "model: m  # tensor_parallel_size: 2 needs two boxes\n"),
    ("a.yaml", "max_tp_size_x: 2\nhttp_size: 2\ntp_size_max: 2\nmax_tp_size: 2\n"),
    ("a.yaml", "pipeline_parallel_size: 2\ndata_parallel_size: 2\n"),
    ("a.json", '{"tensor_parallel_size": 1, "pipeline_parallel_size": 2}'),
    ("a.json", '{"tensor_parallel_size": 1, "max_num_seqs": 256}'),
    ("a.json", '{"http_size": 2}'),
    ("a.toml", 'note = "tensor_parallel_size: 2 needs a second box"\n'),
    ("a.toml", "why = 'we tried tp_size = 4 and it hung'\n"),
    ("a.toml", 'why = "it hung, tp_size = 4 or not"\n'),
    ("a.toml", 'text = "tensor_parallel_size=2 is bigger than a reserved number of GPUs"\n'),
    ("a.sh", "#!/bin/bash\n# vllm serve m --tensor-parallel-size 2\n"),
    ("a.sh", "vllm serve m  # two boxes: --tensor-parallel-size 2\n"),
    ("a.sh", "vllm serve m --tensor-parallel-size 1 --port 8000\n"),
    ("a.sh", "vllm serve m --tensor-parallel-size $SIZE\n"),
    ("a.sh", "serve --tp-size-limit 2 --http 2 --tps 20 --no-tp 2\n"),
    ("a.md", "tensor_parallel_size: 2\n"),
    ("a.py", "tensor_parallel_size = 2\n"),
    (".git/a.yaml", "tensor_parallel_size: 2\n"),
    ("sub/.git/a.yaml", "tensor_parallel_size: 2\n"),
    (".venv/lib/a.yaml", "tensor_parallel_size: 2\n"),
    ("node_modules/x/a.json", '{\n"tensor_parallel_size": 2\n}\n'),
    ("lib/python3.12/site-packages/vllm/a.yaml", "tensor_parallel_size: 2\n"),
    ("a.yaml", "\0\0\0tensor_parallel_size: 2\n\0"),
    ("grep: a.yaml", ""),
]


@pytest.mark.parametrize(("name", "text"), LOOK_ALIKES)
def test_what_only_looks_like_it_is_none(box: Box, name: str, text: str) -> None:
    box.file(name, text)
    line = box.lines()["G10"]
    assert line.status == "SKIP", line
    assert str(box.work) in line.message


def test_the_folder_is_named_and_the_rest_is_counted(box: Box) -> None:
    for name in ("one.yaml", "two.json", "three.sh"):
        box.file(f"launch files/{name}", "tp_size: 4\n")
    line = box.lines("--folder", "launch files")["G10"]
    assert line.status == "WARN"
    assert "(+2 more)" in line.message
    assert str(box.work / "launch files") in line.message


def test_a_single_file_has_no_rest(box: Box) -> None:
    box.file("one.yaml", "tp_size: 4\ntensor_parallel_size: 2\n")
    assert "more)" not in box.lines()["G10"].message


@pytest.mark.parametrize("before", ["", "x", "xx"])
@pytest.mark.parametrize("letter", ["ü", "空"])
def test_a_long_name_of_wide_letters_stays_text(box: Box, before: str, letter: str) -> None:
    """The line is cut between letters: what another program reads is UTF-8."""
    box.file(f"{before}{letter * 60}/{letter * 60}.yaml", "tp_size: 4\n")
    out = box.run("--folder", ".").stdout
    assert "G10 WARN" in out
    assert not [c for c in out if "\udc80" <= c <= "\udcff"]


def test_links_that_lead_back_end_the_search(box: Box) -> None:
    (box.work / "loop").symlink_to(".")
    (box.work / "gone.yaml").symlink_to("nowhere")
    os.mkfifo(box.work / "pipe.yaml")
    assert box.lines(limit=30)["G10"].status == "SKIP"


def test_a_link_to_the_folder(box: Box) -> None:
    box.file("real/a.yaml", "tp_size: 4\n")
    (box.work / "link").symlink_to("real")
    assert box.lines("--folder", "link")["G10"].status == "WARN"


def test_a_folder_too_large_to_read_in_time(box: Box) -> None:
    box.program("grep", 'case $* in *exclude-dir*) exec sleep 50 ;; *) exec /bin/grep "$@" ;; esac')
    (box.bin / "sleep").symlink_to("/bin/sleep")
    box.quick()
    line = box.lines(limit=40)["G10"]
    assert line.status == "SKIP"
    assert "--folder" in line.message and "no launch file" not in line.message


def test_a_grep_that_cannot_search_folders_proves_nothing(box: Box) -> None:
    """BusyBox's grep, in many small images, has no --exclude-dir and prints how it is to be used."""
    usage = (
        "grep: unrecognized option '--exclude-dir=.git'\\nBusyBox v1.36.1 multi-call binary.\\n\\nUsage: grep [-H] ..."
    )
    body = f'case $* in *exclude-dir*) printf "%b\\n" "{usage}" >&2; exit 2 ;; *) exec /bin/grep "$@" ;; esac'
    box.program("grep", body)
    box.file("a.yaml", "tp_size: 4\n")
    line = box.lines()["G10"]
    assert line.status in ("SKIP", "WARN")
    assert "BusyBox" not in line.message and "no launch file" not in line.message
