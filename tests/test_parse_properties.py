"""No input makes a parser raise, and what it gives can be written as JSON.

Inputs are arbitrary text, and real lines that were cut, doubled and spoilt: those reach further into a parser.
"""

from __future__ import annotations

import json
import signal
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gonogo.node import interpreter, nvidia_smi
from gonogo.node.facts.codec import encode_value
from gonogo.node.facts.missing import Missing
from gonogo.node.parse import keyed, loader_cache, torch_version
from gonogo.node.parse.event_reasons import active_reasons
from gonogo.node.parse.mounts import mountinfo
from gonogo.node.ports.commands import Commands, Completed
from gonogo.node.ports.devices import Devices
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import Host

#: What goes wrong in practice and what a hostile file would try.
SPOILERS = [
    *(
        "",
        "\0",
        "\ud800",
        "\udcff",
        "\u2028",
        "\x85",
        "\r",
        "\n",
        "\n\n",
        "\t",
        '"',
        "'",
        "\\",
        ",",
        "=",
        ":",
        "[",
        "-",
    ),
    *("9" * 30, "9" * 5000, "-1", "0x", "nan", "inf", "1e999", "٣", "\x1e", "\x1f", "\\777", " - ", "N/A", "None"),
]
SAMPLES = {
    "meminfo": "MemTotal:       127600748 kB\nMemFree: 1 kB\nHugePages_Total:    1024\n",
    "vmstat": "pswpin 7\npswpout 12\noom_kill 2\n",
    "pressure": "some avg10=0.00 avg60=100.00 avg300=1.50 total=12\nfull avg10=3.25 avg60=0.10 avg300=0.00 total=3\n",
    "release": "DGX_NAME=\"DGX Spark\"\nDGX_OTA_VERSION='7.5.0'\nNAME=x\n",
    "constraints": "torch==2.9.0a0+50eac811a6.nv25.09\ntransformers[torch]==4.56.1 ; python_version > '3'\n",
    "library": "/usr/lib/aarch64-linux-gnu/libcuda.so.580.95.05",
    "mountinfo": "36 35 98:0 /mnt1 /with\\040blank rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n",
    "torch": "__version__ = '2.9.1+cu130'\ncuda: Optional[str] = '13.0'\nhip = None\n",
    "nvidia_smi": "0, NVIDIA GB10, 0000000F:01:00.0, 0x2E1210DE, 12.1, 580.126.09, [N/A], 1, 2, 3.10, 4.5, 36, 208, "
    "3003, [N/A], 0, P8, 0x0000000000000001\n",
    "answer": "noise\n\x1egonogo\x1f3.12.3\x1faarch64\x1f/venv\x1f/usr\x1f\x1f/venv/torch\x1f/venv/lib\x1e\n",
}


@st.composite
def spoilt(draw: st.DrawFn, sample: str) -> str:
    text = sample * draw(st.integers(1, 3))
    for _ in range(draw(st.integers(0, 4))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 12))
        text = text[:at] + draw(st.sampled_from(SPOILERS)) + text[at + length :]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


def hostile(sample: str) -> st.SearchStrategy[str]:
    # With lone surrogates: a file name that is no UTF-8 reaches us as such.
    return st.one_of(spoilt(SAMPLES[sample]), st.text(st.characters(codec=None), max_size=200))


def holds(result: Any) -> None:
    """Plain data that the codec takes and JSON can hold."""
    json.dumps(encode_value(result))


PARSERS: list[tuple[str, Callable[[str], Any]]] = [
    ("meminfo", keyed.meminfo),
    ("vmstat", keyed.vmstat),
    ("pressure", keyed.pressure),
    ("release", keyed.release),
    ("constraints", keyed.constraints),
    ("library", keyed.version_in_library_name),
    ("library", keyed.normalised),
    ("mountinfo", mountinfo),
    ("torch", torch_version.read),
    ("nvidia_smi", nvidia_smi.parse),
    ("answer", interpreter.first_line),
]


@pytest.mark.parametrize("sample, parse", PARSERS, ids=[parse.__name__ for _, parse in PARSERS])
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_text_makes_a_parser_raise(sample: str, parse: Callable[[str], Any], data: st.DataObject) -> None:
    holds(parse(data.draw(hostile(sample))))


def test_one_cell_longer_than_the_csv_module_takes() -> None:
    # nvidia-smi's output is kept up to 1 MiB; csv refuses a field of more than 131,072 characters.
    row = SAMPLES["nvidia_smi"]
    assert [device.name for _, device in nvidia_smi.parse(row + "1, " + "a" * 200_000 + "\n")] == ["NVIDIA GB10"]


def test_a_figure_too_long_for_json_is_no_figure() -> None:
    # Python refuses to print a whole number of more than 4300 digits, and 4299 digits of MiB are more bytes than that.
    row = SAMPLES["nvidia_smi"].replace("[N/A], 1, 2", "9" * 4299 + ", 1, 2")
    holds(nvidia_smi.parse(row))


@pytest.mark.parametrize("parse", [parse for _, parse in PARSERS], ids=[parse.__name__ for _, parse in PARSERS])
@pytest.mark.parametrize("piece", ["\n", " ", "\t\n", "a", "a:", "A=\n", "=", "[", '"', "some avg10="], ids=repr)
def test_a_file_of_one_thing_only_is_read_in_time(parse: Callable[[str], Any], piece: str) -> None:
    # 400,000 of them: reading that goes back to the start each time takes many minutes, any other a moment.
    def late(*_: object) -> None:
        raise AssertionError("does not end")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    try:
        parse(piece * 400_000)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# -- the loader cache -------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    before=st.binary(max_size=16),
    count=st.integers(0, 2**32 - 1),
    entries=st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 3), max_size=4),
    tail=st.binary(max_size=80),
    prefix=st.sampled_from(["", "lib", "\ud800", "\0"]),
    cut=st.integers(0, 200),
)
def test_no_bytes_make_the_loader_cache_raise(
    before: bytes, count: int, entries: list[tuple[int, int, int]], tail: bytes, prefix: str, cut: int
) -> None:
    rows = b"".join(struct.pack("<IIIIQ", flags, key % 300, value, 0, 0) for flags, key, value in entries)
    content = before + b"glibc-ld.so.cache1.1" + struct.pack("<II20x", count, len(tail)) + rows + b"libc.so.6\0" + tail
    holds(loader_cache.entries(content, prefix))
    holds(loader_cache.entries(content[:cut], prefix))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.text(max_size=8))
def test_arbitrary_bytes_are_no_loader_cache(content: bytes, prefix: str) -> None:
    assert loader_cache.entries(content, prefix) == []


@given(st.integers(-(2**70), 2**70))
def test_every_mask_has_names(bits: int) -> None:
    assert len(active_reasons(bits)) == bin(bits & (2**64 - 1)).count("1")


# -- what the interpreter answers -------------------------------------------------------------------------------------


class _Says(Commands):
    def __init__(self, answer: Completed) -> None:
        self.answer = answer

    def run(self, *_: Any, **__: Any) -> Completed:
        return self.answer


@settings(max_examples=300, deadline=None)
@given(text=hostile("answer"), errors=st.binary(max_size=40), raw=st.binary(max_size=100), status=st.integers(-70, 300))
@example(text="\n\x1egonogo\x1f\x1e\n", errors=b"", raw=b"", status=0)
def test_no_answer_of_an_interpreter_raises(text: str, errors: bytes, raw: bytes, status: int) -> None:
    for output in (text.encode("utf-8", "surrogatepass"), raw):
        host = Host(Files(), _Says(Completed(status, output, errors)), Devices(), {})
        answer = interpreter.ask(host, interpreter.Choice("/usr/bin/python3", "--python", {}))
        assert isinstance(answer, (Missing, interpreter.Answer))
        holds(answer)
