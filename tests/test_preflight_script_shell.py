"""preflight.sh started by a shell with habits of its own, and the import errors that are not G1.

Which undefined symbol belongs to which gotcha: G1's and G13's texts (public reports of each).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from preflight_script import Box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "box")


@pytest.mark.parametrize(
    "habit",
    [
        "set -eu -o pipefail",
        "set -C",
        "set -f",
        "shopt -s failglob nullglob",
        'grep() { command grep --color=always -n "$@"; }; export -f grep',
        "shopt -s expand_aliases; alias grep='grep -n' head='head -v'",
    ],
)
def test_the_habits_of_the_shell_that_starts_it_change_nothing(box: Box, habit: str) -> None:
    box.torch("2.9.1+cpu", None)
    box.file("a.yaml", "tensor_parallel_size: 2\n")
    plain = box.lines()
    start = box.folder / "start"
    start.write_text(habit + "\n")
    odd = box.lines(env={"BASH_ENV": str(start)})
    for gotcha in ("G1", "G4", "G7", "G9", "G10"):
        assert odd[gotcha] == plain[gotcha]


def test_another_shell_is_told_so(box: Box) -> None:
    completed = box.run(command=["/bin/dash", str(box.script)]) if Path("/bin/dash").exists() else None
    if completed is None:
        pytest.skip("no dash here")
    assert completed.returncode == 2
    assert completed.stderr == "preflight.sh needs bash\n"


@pytest.mark.parametrize(
    ("text", "status", "gotcha"),
    [
        ("libcudart.so.12: cannot open shared object file: No such file or directory", "FAIL", ""),
        ("libcublas.so.12: cannot open shared object file: No such file or directory", "FAIL", ""),
        ("/x/libtorch_cuda.so: undefined symbol: cudaGetDriverEntryPointByVersion", "FAIL", ""),
        ("/x/libtorch_cuda.so: undefined symbol: ncclCommShrink", "UNKNOWN", "G13"),
        ("/x/_C.so: undefined symbol: _ZN3c104cuda9SetDeviceEab", "UNKNOWN", "G13"),
        ("/x/libtorch_cuda.so: undefined symbol: cuGreenCtxCreate", "UNKNOWN", "G11"),
        ("libmpi.so.40: cannot open shared object file: No such file or directory", "UNKNOWN", ""),
    ],
)
def test_only_the_errors_of_cuda_are_g1(box: Box, text: str, status: str, gotcha: str) -> None:
    box.torch(before=f"raise ImportError({text!r})")
    line = box.lines()["G1"]
    assert line.status == status
    assert text.rpartition(": ")[2][:30] in line.message or "cannot open" in line.message
    assert gotcha in line.message


KUBERNETES = """
args:
  - serve
  - --tensor-parallel-size
  - "2"
"""


@pytest.mark.parametrize(
    ("name", "text", "status"),
    [
        ("a.yaml", KUBERNETES, "WARN"),
        ("a.sh", "vllm serve m --tensor-parallel-size \\\n  4\n", "WARN"),
        ("a.yaml", KUBERNETES.replace('"2"', '"1"'), "SKIP"),
        ("a.yaml", "# --tensor-parallel-size\n- 2\n", "SKIP"),
        ("a.yaml", "args:\n  - --tp\n  - model\n  - 2\n", "SKIP"),
        ("a.toml", 'why = "it hung, tp_size = 4 or not"\n', "SKIP"),
        ("a.env", "TENSOR_PARALLEL_SIZE=2\n", "WARN"),
    ],
)
def test_a_setting_over_two_lines(box: Box, name: str, text: str, status: str) -> None:
    box.file(name, text)
    assert box.lines()["G10"].status == status
