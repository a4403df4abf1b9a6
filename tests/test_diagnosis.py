"""Weighing and judging: cause before echo, first in the log first, what another memory would mean left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gonogo import catalogue, diagnosis
from gonogo.diagnosis import Outcome, Reader, weighing
from gonogo.finding import CONFIDENCES
from gonogo.logs import cleaning
from gonogo.logs.device import Device
from gonogo.logs.matching import Matcher, patterns_of
from gonogo.logs.scanning import Scanner
from gonogo.logs.signatures import Signature

# As their programs print them: torch, vLLM, the loader, llama.cpp, the kernel.
WATCHDOG = (
    "[rank2]:[E626 05:06:30.929 ProcessGroupNCCL.cpp:632] [Rank 2] Watchdog caught collective operation timeout: x"
)
NO_RUNTIME = "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"
NO_ROOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 121.69 GiB"
)
NO_ROOM_LLAMA = (
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 104817.00 MiB on device 0: cudaMalloc failed: out of memory"
)
REMARK = "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1."


def read(*logs: str, device: Device | None = None) -> Outcome:
    reader = Reader()
    for number, log in enumerate(logs):
        reader.read(f"file{number}", [log.encode()])
    return reader.outcome(device)


def codes(outcome: Outcome) -> list[str]:
    return [item.code for item in outcome.diagnoses]


# -- causes, echoes, notes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "logs", [(WATCHDOG, NO_RUNTIME), (NO_RUNTIME, WATCHDOG), ("x\n" + WATCHDOG, "x\n" * 9 + NO_RUNTIME)]
)
def test_a_cause_goes_before_its_echo_in_whatever_file(logs: tuple[str, str]) -> None:
    outcome = read(*logs)
    assert [item.gotcha for item in outcome.diagnoses] == ["G1"]
    assert [note.code for note in outcome.notes] == ["G14.collective-timeout"]
    (evidence,) = outcome.diagnoses[0].evidence
    assert (evidence.file, evidence.text) == (f"file{'libcudart' in logs[1]:d}", NO_RUNTIME)


def test_an_echo_alone_is_said_to_be_one() -> None:
    outcome = read(f"step 1\n{WATCHDOG}\n")
    assert codes(outcome) == ["G14.collective-timeout"]
    assert outcome.diagnoses[0].evidence[0].line == 2
    assert outcome.notes == ()


def test_a_harmless_line_is_a_note_and_no_diagnosis() -> None:
    outcome = read(REMARK)
    assert outcome.diagnoses == ()
    assert [(note.code, note.line, note.text) for note in outcome.notes] == [("G7.capability-remark", 1, REMARK)]
    assert outcome.notes[0].says


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)])
def test_the_rank_that_failed_first_goes_first(order: tuple[int, ...]) -> None:
    # Equally sure causes, one a rank, in the order in which their lines came.
    rows = [signature(f"G{number + 1}", f"cause {number}") for number in range(4)]
    outcome = weighed(rows, "".join(f"[rank{number}]: cause {number}\n" for number in order))
    assert [item.gotcha for item in outcome.diagnoses] == [f"G{number + 1}" for number in order]


def signature(gotcha: str, pattern: str, **more: Any) -> Signature:
    return Signature(gotcha, more.pop("code", "made-up"), pattern, (pattern[:7],), **more)


def weighed(rows: list[Signature], log: str, device: Device | None = None) -> Outcome:
    matcher = Matcher(patterns_of(rows))
    Scanner(matcher.literals, matcher.take).scan("log", [log.encode()])
    return weighing.weigh(rows, matcher, device or Device())


ROWS = st.lists(
    st.tuples(st.sampled_from(CONFIDENCES), st.integers(-2, 2), st.sampled_from(["cause", "echo", "note"])),
    min_size=1,
    max_size=9,
)


@given(ROWS, st.randoms())
def test_the_order_of_diagnoses(rows: list[tuple[str, int, str]], random: Any) -> None:
    # By the documents: causes before echoes; the surer first, then the weightier, then the one that came first.
    lines = list(range(1, len(rows) + 1))
    random.shuffle(lines)
    signatures = [
        signature(f"G{n + 1}", f"failure number {n}", confidence=confidence, weight=weight, kind=kind)
        for n, (confidence, weight, kind) in enumerate(rows)
    ]
    log = "".join(f"failure number {lines.index(line)}\n" for line in sorted(lines))
    outcome = weighed(signatures, log)
    all_of = {kind: [n for n, row in enumerate(rows) if row[2] == kind] for kind in ("cause", "echo", "note")}
    surer = [*CONFIDENCES]
    causes = sorted(all_of["cause"], key=lambda n: (surer.index(rows[n][0]), -rows[n][1], lines[n]))
    wanted = causes or sorted(all_of["echo"], key=lambda n: lines[n])
    assert [item.gotcha for item in outcome.diagnoses] == [f"G{n + 1}" for n in wanted]
    noted = all_of["note"] + (all_of["echo"] if causes else [])
    assert sorted(note.code for note in outcome.notes) == sorted(f"G{n + 1}.made-up" for n in noted)


def test_one_diagnosis_a_gotcha_with_the_lines_of_all() -> None:
    rows = [
        signature("G1", "first form", code="one"),
        signature("G1", "other form", code="one"),
        signature("G1", "another code that is sure", code="two"),
        signature("G1", "a hint of a third code", code="three", confidence="low"),
    ]
    outcome = weighed(rows, "other form\nfirst form\nanother code that is sure\na hint of a third code\n")
    (item,) = outcome.diagnoses
    assert (item.code, [row.line for row in item.evidence]) == ("G1.one", [1, 2, 3])
    many = [signature("G1", f"form number {n}", code="one") for n in range(10, 40)]
    outcome = weighed(many, "".join(f"form number {n}\n" for n in range(10, 40)))
    assert [row.line for row in outcome.diagnoses[0].evidence] == list(range(1, 9))


# -- texts ------------------------------------------------------------------------------------------------------------


def test_captures_are_filled_in_as_they_are() -> None:
    row = signature("G1", r"missing (?P<name>\S+)(?P<more> at \d+)?", text="{name} is not there{more}; {other} neither")
    outcome = weighed([row], "missing {0.__class__}{name}%s\\g<1>\n")
    assert outcome.diagnoses[0].text == "{0.__class__}{name}%s\\g<1> is not there; neither"
    assert weighed([row], "missing x at 7\n").diagnoses[0].text == "x is not there at 7; neither"


def test_a_step_whose_figure_the_log_does_not_tell_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fix = [
        {"step": "look", "impact": "none"},
        {"step": "install {name}", "impact": "reversible", "undo": "remove {name}"},
        {"step": "use {version}", "impact": "persistent"},
        {"step": "bad {", "impact": "none"},
    ]
    entry = {**catalogue.gotchas()["G1"], "code": {"made-up": {"title": "T", "fix": fix}}}
    monkeypatch.setattr(catalogue, "gotchas", lambda: {"G1": entry})
    outcome = weighed([signature("G1", r"missing (?P<name>\S+)(?P<version> at \d+)?")], "missing torch\n")
    (item,) = outcome.diagnoses
    assert item.title == "T"
    assert [tuple(step) for step in item.fix] == [("look", "none", ""), ("install torch", "reversible", "remove torch")]


# -- the device -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("logs", "confidence", "if_device"),
    [
        ((NO_ROOM_LLAMA,), "low", "unified"),
        (("NVIDIA GB10\n" + NO_ROOM_LLAMA,), "medium", ""),
        (("NVIDIA GB10", NO_ROOM_LLAMA), "medium", ""),
    ],
)
def test_a_rule_for_unified_memory(logs: tuple[str, ...], confidence: str, if_device: str) -> None:
    (item,) = read(*logs).diagnoses
    assert (item.code, item.confidence, item.if_device) == ("G3.allocation-failed", confidence, if_device)
    assert codes(read("NVIDIA GeForce RTX 4090\n" + NO_ROOM_LLAMA)) == []


def test_the_device_that_is_given_goes_before_the_one_that_is_named() -> None:
    assert codes(read("NVIDIA GB10\n" + NO_ROOM_LLAMA, device=Device("discrete"))) == []
    (item,) = read(NO_ROOM_LLAMA, device=Device("unified")).diagnoses
    assert (item.confidence, item.if_device) == ("medium", "")
    assert read("NVIDIA H100", device=Device("unified")).device == Device("unified")


@pytest.mark.parametrize("memory", ["", "unified", "discrete"])
@pytest.mark.parametrize("rule", ["", "unified", "discrete"])
def test_which_rules_may_speak(memory: str, rule: str) -> None:
    outcome = weighed([signature("G3", "failure of memory", device=rule)], "failure of memory\n", Device(memory))
    if rule and memory and rule != memory:
        assert outcome.diagnoses == ()
    else:
        (item,) = outcome.diagnoses
        sure = not rule or bool(memory)
        assert (item.confidence, item.if_device) == (("high", "") if sure else ("low", rule))


# -- figures, judged by the gotchas' own judges ------------------------------------------------------------------------

ROWS_OF_A_STUCK_SPARK = "timestamp, clocks.sm [MHz], utilization.gpu [%], power.draw [W], temperature.gpu\n" + "".join(
    f"2026/11/30 10:{n // 60:02}:{n % 60:02}.000, 611 MHz, 96 %, 14.00 W, 51\n" for n in range(120)
)
TORCH = "PyTorch version: 2.9.1+cpu\nCUDA used to build PyTorch: Could not collect\n"
TOPOLOGY = "export WORLD_SIZE=2\nexport NCCL_IB_HCA=enp1s0f0np0,enP2p1s0f0np0\nexport NCCL_SOCKET_IFNAME=enp1s0f0np0\n"


@pytest.mark.parametrize(
    ("log", "spark", "card"),
    [(ROWS_OF_A_STUCK_SPARK, "G4", None), ("NVIDIA GB10\n" + TORCH, "G12", "G12"), (TOPOLOGY, "G10", None)],
)
def test_readings_are_judged(log: str, spark: str, card: str | None) -> None:
    assert [item.gotcha for item in read(log, device=Device("unified")).diagnoses] == [spark]
    of_a_card = [item.gotcha for item in read(log, device=Device("discrete")).diagnoses]
    assert of_a_card in ([], [card])
    lines = log.split("\n")
    for item in read(log, device=Device("unified")).diagnoses:
        assert item.evidence
        assert all(row.text == lines[row.line - 1] for row in item.evidence)


def test_a_jetson_is_not_judged_as_a_spark() -> None:
    # Its torch of CUDA 12.6 is right there; on a Spark it would not be.
    torch = "PyTorch version: 2.8.0\nCUDA used to build PyTorch: 12.6\n"
    assert codes(read("NVIDIA Jetson AGX Orin\n" + torch)) == []
    assert codes(read("NVIDIA Jetson AGX Orin\n" + ROWS_OF_A_STUCK_SPARK)) in ([], ["G4.stuck-power-contract"])


@pytest.mark.parametrize("log", [TORCH, TOPOLOGY, ROWS_OF_A_STUCK_SPARK, NO_ROOM, NO_RUNTIME])
def test_a_large_log_says_the_same_as_a_small_one(log: str) -> None:
    # Of a large log only the lines with literals are looked at.
    noise = "2026-11-30 10:00:00 INFO trainer step 12 loss 1.234 lr 1.0e-05\n" * 20_000
    small, large = read("NVIDIA GB10\n" + log), read(f"{noise}NVIDIA GB10\n{log}\n{noise}")
    assert len(noise) > diagnosis.SMALL_BYTES
    assert codes(small) == codes(large) != []
    shift = noise.count("\n")
    for one, other in zip(small.diagnoses, large.diagnoses, strict=True):
        assert [(row.line + shift, row.text) for row in one.evidence] == [
            (row.line, row.text) for row in other.evidence
        ]


# -- the reader -------------------------------------------------------------------------------------------------------


def test_what_was_taken_in_stays_where_reading_breaks_off() -> None:
    def breaking() -> Any:
        yield f"one\n{NO_RUNTIME}".encode()
        raise OSError("gone")

    reader = Reader()
    with pytest.raises(OSError, match="gone"):
        reader.read("log", breaking())
    assert codes(reader.outcome())[0].startswith("G1.")
    assert (reader.lines_read, reader.bytes_read) == (2, len(NO_RUNTIME) + 4)
    reader.read("next", [b"x\n"])
    assert codes(reader.outcome())[0].startswith("G1.")  # an outcome may be asked for at any time
    assert reader.lines_read == 3


def test_nothing_in_nothing() -> None:
    for content in ("", "\n", "\n" * 1000, " ", "\x00" * 100):
        outcome = read(content)
        assert (outcome.diagnoses, outcome.notes, outcome.device) == ((), (), Device())


POSITIVES = [text for rows in catalogue.signatures().values() for row in rows for text in row["positive"]]
PIECES = st.one_of(st.sampled_from([line for text in POSITIVES for line in text.split("\n")]), st.text(max_size=30))


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PIECES, max_size=12), st.sampled_from(["\n", "\r\n", " ", "\x1b[0m\n"]))
def test_evidence_is_what_stands_there(pieces: list[str], end: str) -> None:
    # Whatever lines of failures come together: no exception, and each line quoted is that line of the log.
    log = end.join(pieces)
    outcome = diagnosis.of_text(log.encode("utf-8", "replace"))
    lines = log.encode("utf-8", "replace").split(b"\n")
    shown: list[tuple[int, str]] = [(note.line, note.text) for note in outcome.notes]
    shown += [(row.line, row.text) for item in outcome.diagnoses for row in item.evidence]
    for number, text in shown:
        parts = [cleaning.clean(part) for part in cleaning.segments(lines[number - 1])]
        assert any(text.removeprefix("...") in part for part in parts)  # of a long one what stands around the match
    assert len({item.gotcha for item in outcome.diagnoses}) == len(outcome.diagnoses)
    assert all(item.evidence and item.title and item.confidence in CONFIDENCES for item in outcome.diagnoses)
