"""The judged Python environment, read from files made by hand; the interpreter's answer is made up as well.

How an interpreter is chosen and asked: test_interpreter. The names of files are those of real wheels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gonogo.node.collect import python
from gonogo.node.facts.missing import FAILED, NOT_FOUND, TIMED_OUT, Missing
from gonogo.node.facts.sections.cuda import Library
from gonogo.node.facts.sections.python import Distribution, Python, Torch
from gonogo.node.ports.commands import Commands, Completed
from gonogo.node.ports.devices import Devices
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import Host

SITE = "/venv/lib/python3.12/site-packages"
VERSION_PY = "from typing import Optional\n__version__ = '2.9.1+cu130'\ncuda: Optional[str] = '13.0'\nhip = None\n"


class Says(Commands):
    """An interpreter that gives this answer."""

    def __init__(self, answer: Completed | Missing) -> None:
        self.answer = answer

    def run(
        self,
        argv: Sequence[str],
        limit_seconds: float,
        environment: Mapping[str, str] | None = None,
        user_and_group: tuple[int, int] | None = None,
    ) -> Completed | Missing:
        return self.answer


def answer(torch: str = "", paths: Sequence[str] = ("/venv/lib/python3.12", SITE), user_site: str = "") -> Completed:
    fields = ["3.12.3", "aarch64", "/venv", "/usr", user_site, torch, *paths]
    return Completed(0, ("\n\x1egonogo\x1f" + "\x1f".join(fields) + "\x1e\n").encode(), b"")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").touch()
    (tmp_path / SITE[1:]).mkdir(parents=True)
    return tmp_path


def put(root: Path, *paths: str, text: str = "") -> None:
    for path in paths:
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def collect(root: Path, said: Completed | Missing, **environment: str) -> Python:
    host = Host(Files(str(root)), Says(said), Devices(), {"VIRTUAL_ENV": "/venv", **environment})
    facts = python.collect(host)
    assert isinstance(facts, Python)
    return facts


def test_an_environment_with_torch_for_a_spark(root: Path) -> None:
    put(root, f"{SITE}/torch/version.py", text=VERSION_PY)
    put(
        root,
        *(f"{SITE}/torch/_C.cpython-312-aarch64-linux-gnu.so", f"{SITE}/torch/lib/libtorch_cuda.so"),
        *(f"{SITE}/nvidia/cu13/lib/libcudart.so.13", f"{SITE}/nvidia/cu13/lib/libcublas.so.13"),
        *(f"{SITE}/torch-2.9.1+cu130.dist-info/METADATA", f"{SITE}/nvidia_cuda_runtime-13.0.96.dist-info/METADATA"),
        *(f"{SITE}/Flash_Attn-2.8.3.dist-info/METADATA", f"{SITE}/apex-0.1-py3.12.egg-info/PKG-INFO"),
        *(f"{SITE}/typing.extensions-4.15.0.dist-info/x", f"{SITE}/_private-1.0.dist-info/x", f"{SITE}/six.py"),
    )
    facts = collect(root, answer(torch=f"{SITE}/torch"))
    assert (facts.executable, facts.origin, facts.start, facts.noise) == ("/venv/bin/python", "VIRTUAL_ENV", True, "")
    assert (facts.version, facts.machine, facts.prefix, facts.base_prefix) == ("3.12.3", "aarch64", "/venv", "/usr")
    assert facts.user_site == Missing(NOT_FOUND)
    assert facts.search_path == ("/venv/lib/python3.12", SITE)
    assert facts.torch == Torch(f"{SITE}/torch", "2.9.1+cu130", "13.0", Missing(NOT_FOUND), "aarch64")
    assert facts.cuda_libraries == (
        Library("libcudart.so.13", f"{SITE}/nvidia/cu13/lib/libcudart.so.13", "nvidia packages"),
    )
    assert facts.distributions == (
        Distribution("flash-attn", "2.8.3", SITE),
        Distribution("apex", "0.1", SITE),
        Distribution("nvidia-cuda-runtime", "13.0.96", SITE),
        Distribution("torch", "2.9.1+cu130", SITE),
        Distribution("typing-extensions", "4.15.0", SITE),
    )


@pytest.mark.parametrize(
    "path, name, found_by",
    [
        (f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12", "libcudart.so.12", "nvidia packages"),
        (f"{SITE}/torch/lib/libcudart-9335f6a2.so.12", "libcudart.so.12", "torch/lib"),
        (f"{SITE}/torch/lib/libcudart-d0da41ae.so.11.0", "libcudart.so.11.0", "torch/lib"),
        ("/venv/lib/libcudart.so.13.0.96", "libcudart.so.13", "the environment's lib"),
        ("/venv/lib/libcudart.so.11.8.89", "libcudart.so.11.0", "the environment's lib"),
    ],
)
def test_where_an_environment_brings_its_runtime(root: Path, path: str, name: str, found_by: str) -> None:
    put(root, path, path.replace("libcudart", "libnvrtc"), f"{SITE}/torch/version.py")
    assert collect(root, answer(torch=f"{SITE}/torch")).cuda_libraries == (Library(name, path, found_by),)


def test_builds_without_cuda(root: Path) -> None:
    put(root, f"{SITE}/torch/version.py", text="__version__ = '2.9.1+cpu'\ncuda: Optional[str] = None\nhip = None\n")
    put(root, f"{SITE}/torch/_C.cpython-312-x86_64-linux-gnu.so")
    facts = collect(root, answer(torch=f"{SITE}/torch"))
    missing = Missing(NOT_FOUND)
    assert facts.torch == Torch(f"{SITE}/torch", "2.9.1+cpu", missing, missing, "x86_64")
    put(root, f"{SITE}/torch/version.py", text="__version__ = '2.9.1+rocm6.4'\ncuda = None\nhip = '6.4.43482'\n")
    rocm = collect(root, answer(torch=f"{SITE}/torch")).torch
    assert isinstance(rocm, Torch) and (rocm.cuda, rocm.hip) == (missing, "6.4.43482")


def test_torch_that_is_half_there(root: Path) -> None:
    assert collect(root, answer()).torch == Missing(NOT_FOUND)
    put(root, f"{SITE}/torch/__init__.py")
    half = collect(root, answer(torch=f"{SITE}/torch")).torch
    assert isinstance(half, Torch) and half.version == half.cuda == Missing(
        FAILED, f"{SITE}/torch/version.py is not readable"
    )
    put(root, f"{SITE}/torch/version.py", text="raise SystemExit\n")
    odd = collect(root, answer(torch=f"{SITE}/torch")).torch
    assert isinstance(odd, Torch) and odd.version == Missing(FAILED, "no version in torch/version.py")


def test_an_interpreter_that_does_not_answer_is_a_fact(root: Path) -> None:
    # What can be guessed from the layout of the folder still is.
    put(root, f"{SITE}/torch/version.py", text=VERSION_PY)
    put(root, f"{SITE}/torch-2.9.1+cu130.dist-info/METADATA")
    facts = collect(root, Missing(TIMED_OUT, "no answer within 5 s"))
    assert facts.start == Missing(TIMED_OUT, "no answer within 5 s")
    assert facts.search_path == (SITE,)
    assert facts.distributions == (Distribution("torch", "2.9.1+cu130", SITE),)
    assert isinstance(facts.torch, Torch) and facts.torch.cuda == "13.0"
    assert isinstance(facts.version, Missing) and isinstance(facts.prefix, Missing)


def test_a_path_twice_or_not_there_or_no_folder(root: Path) -> None:
    put(root, f"{SITE}/torch-2.9.1.dist-info/METADATA", "/venv/lib/python312.zip")
    paths = ("/venv/lib/python312.zip", "/none", SITE, SITE)
    facts = collect(root, answer(paths=paths, user_site="/home/x/.local/lib"))
    assert facts.search_path == paths
    assert facts.distributions == (Distribution("torch", "2.9.1", SITE),)
    assert facts.user_site == "/home/x/.local/lib"


def test_pip_constraints(root: Path) -> None:
    assert collect(root, answer()).constraints == Missing(NOT_FOUND)
    put(root, "/etc/pip/constraint.txt", text="torch==2.9.0a0+50eac811a6.nv25.09\n# no\n")
    ngc = collect(root, answer())
    assert ngc.constraint_file == "/etc/pip/constraint.txt"
    assert ngc.constraints == {"torch": "2.9.0a0+50eac811a6.nv25.09"}
    # pip reads PIP_CONSTRAINT as a list of files divided by blanks.
    put(root, "/mine.txt", text="numpy==2.3.4\n")
    mine = collect(root, answer(), PIP_CONSTRAINT="/none.txt /mine.txt")
    assert (mine.constraint_file, mine.constraints) == ("/mine.txt", {"numpy": "2.3.4"})
    none = collect(root, answer(), PIP_CONSTRAINT="/none.txt")
    assert none.constraint_file == Missing(NOT_FOUND)


def test_a_path_with_a_nul_costs_no_other_fact(root: Path) -> None:
    # An interpreter may answer anything; a name with a NUL is no file and no more than that.
    put(root, f"{SITE}/torch-2.9.1.dist-info/METADATA")
    facts = collect(root, answer(paths=("/a\0b", SITE)))
    assert facts.distributions == (Distribution("torch", "2.9.1", SITE),)


def test_no_python_at_all(tmp_path: Path) -> None:
    facts = python.collect(Host(Files(str(tmp_path)), Says(answer()), Devices(), {"PATH": "/bin"}))
    assert isinstance(facts, Missing) and facts.reason == NOT_FOUND
