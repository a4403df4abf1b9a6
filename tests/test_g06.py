"""G6's judge on one pool. Expected figures are worked out by hand from the flags' documented meanings."""

from __future__ import annotations

from typing import Any

import pytest
from made_neighbours import (
    CARD,
    DENIED,
    GIB,
    HALF,
    SPARK,
    TITLED,
    device,
    findings,
    memory,
    plain,
    server,
    told,
    worker,
)

from gonogo.finding import FAIL, INFO, PASS, SKIP, UNKNOWN, WARN
from gonogo.gotchas.g06_other_processes.check import check_neighbours
from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, NOT_FOUND, UNCOLLECTED, Missing
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice, GpuProcess
from gonogo.plan import Plan
from gonogo.platforms.identify import NONE, Platform, assume

# -- what each program promises: 120 GiB in all, 40 to be had ---------------------------------------------------------

PROMISES = {
    "vllm, half": (server("vllm", flags={"gpu-memory-utilization": "0.5"}), 59.0, INFO, "59.0 of 60.0 GiB"),
    "vllm, more than that": (server("vllm", flags={"gpu-memory-utilization": "0.5"}), 61.0, INFO, "61.0 GiB"),
    "vllm, none": (server("vllm"), 100.0, WARN, r"takes 108.0 GiB by default"),
    "vllm, bytes": (server("vllm", flags={"kv-cache-memory-bytes": "30G"}), 20.0, INFO, "20.0 of 30.0 GiB"),
    "vllm, decimal": (server("vllm", flags={"kv-cache-memory-bytes": "30g"}), 20.0, INFO, "20.0 of 27.9 GiB"),
    "vllm, bytes overrule": (
        server("vllm", flags={"kv-cache-memory-bytes": "1073741824", "gpu-memory-utilization": "0.9"}),
        *(20.0, INFO, "holds 20.0 GiB"),
    ),
    "vllm, unreadable": (server("vllm", flags={"gpu-memory-utilization": ""}), 20.0, INFO, "cannot be read"),
    "vllm, absurd": (server("vllm", flags={"gpu-memory-utilization": "nan"}), 20.0, INFO, "cannot be read"),
    "vllm, file": (server("vllm", flags={"config": "set"}), 20.0, INFO, "may stand in its configuration file"),
    "vllm, title": (server("vllm")._replace(flags=TITLED), 20.0, INFO, "on no command line"),
    "sglang": (server("sglang", flags={"mem-fraction-static": "0.6"}), 71.0, INFO, "71.0 of 72.0 GiB"),
    "sglang, none": (server("sglang"), 71.0, WARN, "sglang pid 10 holds 71.0 GiB"),
    "trt": (server("tensorrt-llm", flags={"kv-cache-free-gpu-memory-fraction": "0.5"}), 71.0, INFO, "holds 71.0 GiB"),
    # It holds next to nothing yet: half of the 40 GiB that are free will be its.
    "trt, starts": (
        server("tensorrt-llm", flags={"kv-cache-free-gpu-memory-fraction": "0.5"}),
        *(0.5, INFO, "0.5 of 20.5 GiB"),
    ),
    "trt, none": (server("tensorrt-llm"), 71.0, WARN, "tensorrt-llm pid 10"),
    "trt, file": (server("tensorrt-llm", flags={"config": "set"}), 71.0, INFO, "configuration file"),
    "tgi": (server("tgi", flags={"cuda-memory-fraction": "0.5"}), 50.0, INFO, "50.0 of 60.0 GiB"),
    "tgi, variable": (server("tgi", environment={"CUDA_MEMORY_FRACTION": "0.5"}), 50.0, INFO, "50.0 of 60.0 GiB"),
    "tgi, none": (server("tgi"), 50.0, WARN, "tgi pid 10"),
    "tgi, all": (server("tgi", flags={"cuda-memory-fraction": "1.0"}), 50.0, WARN, "tgi pid 10"),
    "tgi, not to be read": (server("tgi")._replace(environment=DENIED), 50.0, INFO, "may not be read"),
    "llama.cpp": (server("llama.cpp"), 90.0, INFO, "when it loads"),
    "triton": (server("triton"), 90.0, INFO, "when it loads"),
    "comfyui, idle": (server("comfyui"), 0.0, INFO, "comfyui pid 10 holds nothing now, loads models on demand"),
    "comfyui": (server("comfyui"), 20.0, WARN, "comfyui pid 10 holds 20.0 GiB"),
    "ollama, idle": (server("ollama"), 0.0, INFO, "ollama pid 10 holds nothing now, loads models on demand"),
    "training, small": (plain("training", 10), 3.9, INFO, "python pid 10 holds 3.9 GiB"),
    "training": (plain("training", 10), 4.0, WARN, "python pid 10 holds 4.0 GiB"),
    "python, small": (plain("other", 10), 3.9, INFO, "python pid 10 holds 3.9 GiB"),
    "python": (plain("other", 10), 30.0, WARN, "python pid 10 holds 30.0 GiB"),
    "ray": (worker("ray", 10, 5, "raylet"), 100.0, INFO, "on no command line"),
}


@pytest.mark.parametrize("case", PROMISES)
def test_what_a_neighbour_promises(case: str) -> None:
    process, held, status, words = PROMISES[case]
    (item,) = findings(process, gpu=device(p10=held) if held else device())
    assert item.status == status and words in item.message, item.message


@pytest.mark.parametrize("value", ["-1", "-1m", "-1h30m", "-0.5h"])
def test_ollama_for_ever(value: str) -> None:
    (item,) = findings(server("ollama", environment={"OLLAMA_KEEP_ALIVE": value}), gpu=device(p10=20))
    assert item.status == WARN and f"never gives it back: OLLAMA_KEEP_ALIVE={value}" in item.message


@pytest.mark.parametrize("value", ["5m", "24h", "0", "-0", ""])
def test_ollama_for_a_while(value: str) -> None:
    (item,) = findings(server("ollama", environment={"OLLAMA_KEEP_ALIVE": value}), gpu=device(p10=20))
    assert item.status == WARN and "never" not in item.message
    assert item.values["ollama"] == "10"


# -- groups -----------------------------------------------------------------------------------------------------------


def test_a_server_and_its_workers_are_one() -> None:
    half = server("vllm", flags={"gpu-memory-utilization": "0.5"})
    (item,) = findings(half, worker("vllm"), worker("vllm", 12, 11), gpu=device(p11=30, p12=29))
    assert (item.status, "59.0 of 60.0" in item.message, "3 processes" in item.evidence[0]) == (INFO, True, True)
    # MPI's daemon stands between this server and its worker.
    mpi = plain("other", 12)._replace(parent_pid=9, ancestor_pid=10)
    trt = server("tensorrt-llm", flags={"kv-cache-free-gpu-memory-fraction": "0.5"})
    assert told(trt, mpi, gpu=device(p12=60)) == [("neighbours", INFO)]
    launcher, rank = plain("training", 30, "torchrun"), plain("training", 31)._replace(parent_pid=30)
    (item,) = findings(launcher, rank, gpu=device(p31=50))
    assert item.status == WARN and "torchrun pid 30 holds 50.0 GiB" in item.message and item.values["others"] == "30"


def test_a_loop_of_parents_ends() -> None:
    loop = (worker("vllm", 10, 11), worker("vllm", 11, 10))
    assert {status for _, status in told(*loop, gpu=device(p10=5))} == {INFO}


# -- orphans ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("under", ["systemd", "init", "tini", "docker-init", "containerd-shim", "bash", "sh"])
def test_an_orphan(under: str) -> None:
    (item,) = findings(worker("vllm", 11, 1, under), worker("vllm", 12, 11), gpu=device(p11=60, p12=40))
    assert (item.code, item.status) == ("G6.orphan", WARN)
    assert "vllm pid 11 holds 100.0 GiB" in item.message
    assert (item.values["pids"], item.values["kill"]) == ("11,12", "kill 11 12")
    assert told(worker("vllm", 11, 1, "other"), gpu=device(p11=60)) == [("orphan", WARN)]  # an init of its own
    (item,) = findings(worker("sglang", 11, 1, under)._replace(same_user=False), gpu=device(p11=60))
    assert item.values["kill"] == "sudo kill 11"


def test_no_orphans() -> None:
    mine = worker("vllm", 11, 7, "python")  # vllm.LLM() in a small program of the user's
    assert told(mine, gpu=device(p11=60)) == [("neighbours", INFO)]
    offline = (plain("other", 10), worker("vllm", 11, 10))  # and in a large one
    assert told(*offline, gpu=device(p11=60)) == [("neighbours", INFO)]
    first = (
        server("vllm", 1, {"gpu-memory-utilization": "0.5"}),
        worker("vllm", 11, 1, "other"),
    )  # a container's pid 1
    assert told(*first, gpu=device(p11=59)) == [("neighbours", INFO)]
    assert told(worker("vllm", 11, 7, "other"), gpu=device(p11=60)) == [("neighbours", INFO)]
    assert told(worker("tgi", 11, 1, "systemd"), gpu=device(p11=9)) == [("neighbours", INFO)]  # a unit of its own
    assert told(worker("vllm", 11, 1, "systemd"), gpu=device()) == [("neighbours", INFO)]  # holds nothing
    assert told(worker("ollama", 11, 5, "bash"), gpu=device(p11=9)) == [("neighbours", INFO)]  # started by hand


# -- sums on one pool -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "available", "swap", "need", "expected"),
    [
        (60, 40, 0, 0, ("neighbours", INFO)),
        (60, 3, 0, 0, ("neighbours", INFO)),  # it has taken all it will: how little is left is G3's
        (10, 60, 0, 0, ("neighbours", INFO)),  # 50 to come leave 10
        (10, 57, 0, 0, ("leaves-too-little", WARN)),  # 7
        (10, 41, 16, 0, ("leaves-too-little", WARN)),  # swap counts
        (10, 50, 0, 0, ("leaves-too-little", WARN)),  # nothing at all
        (10, 49, 0, 0, ("promises-exceed", FAIL)),
        (10, 90, 0, 30, ("neighbours", INFO)),
        (10, 90, 0, 35, ("leaves-too-little", WARN)),
        (10, 90, 0, 41, ("plan-beside-neighbours", FAIL)),
        (60, 40, 0, 39, ("neighbours", INFO)),  # leaves 1: G3's to say
        (60, 40, 0, 41, ("plan-beside-neighbours", FAIL)),
        (60, 40, 0, 101, ("neighbours", INFO)),  # would not fit without them either: G3's
    ],
)
def test_promises_and_plan(held: int, available: int, swap: int, need: int, expected: tuple[str, str]) -> None:
    assert told(HALF, gpu=device(p10=held), pool=memory(available, swap), need=need) == [expected]


def test_free_huge_pages_alone_count() -> None:
    pages = {"huge_pages_total": 100, "huge_pages_free": 40, "huge_page_size_bytes": GIB}
    assert told(HALF, gpu=device(p10=10), pool=memory(90, **pages)) == [("promises-exceed", FAIL)]


def test_a_server_without_a_cap_counts_with_its_default() -> None:
    assert told(server("vllm"), gpu=device(p10=3), pool=memory(110)) == [
        ("uncapped", WARN),
        ("leaves-too-little", WARN),
    ]
    assert told(server("vllm"), gpu=device(p10=3), pool=memory(100))[1] == ("promises-exceed", FAIL)


# -- what cannot be seen ----------------------------------------------------------------------------------------------


def test_nobody() -> None:
    assert told() == told(platform=CARD) == [("ok", PASS)]
    drawing = device(graphics=(7, 20), p20=0.5)  # a browser may be in both lists
    assert told(plain("other", 20), gpu=drawing) == told(gpu=drawing, platform=CARD) == [("ok", PASS)]
    assert told(plain("other", 20)) == [("ok", PASS)]  # a large Python without the GPU
    assert told(plain("own", 20), gpu=device(p20=50)) == [("ok", PASS)]


@pytest.mark.parametrize("platform", [SPARK, CARD])
def test_what_cannot_be_seen_is_said(platform: Platform) -> None:
    for changes in (
        *({"host": False}, {"host": Missing(FAILED)}, {"hidden_from_us": True}, {"hidden_from_us": DENIED}),
        *({"complete": False}, {"found": DENIED}, {"gpu": GpuDevice(0)}, {"gpu": Missing(FAILED, "lost")}),
    ):
        assert told(platform=platform, **changes) == [("not-seen", UNKNOWN)], changes
    assert told(HALF, gpu=device(p10=59), host=False) == [("neighbours", INFO), ("not-seen", UNKNOWN)]


def test_processes_that_only_nvml_knows() -> None:
    assert told(gpu=device(p99=3)) == [("neighbours", INFO)]
    (item,) = findings(gpu=device(p99=30))
    assert item.status == UNKNOWN and "pid 99 holds 30.0 GiB" in item.message
    cards = {"platform": CARD, "gpu": device(0, 80, 40, p99=30)}
    assert told(**cards) == [("neighbours", INFO), ("not-seen", UNKNOWN)]


def test_what_a_process_holds_is_not_guessed() -> None:
    """In a container NVML's pids are others': the server may hold all it was promised."""
    assert told(HALF, host=False, pool=memory(5)) == [("neighbours", INFO), ("not-seen", UNKNOWN)]
    without_bytes = GpuDevice(0, processes=(GpuProcess(10, "compute", Missing(FAILED)),))
    assert told(HALF, gpu=without_bytes, pool=memory(5)) == [("neighbours", INFO)]
    dead: Any = Missing(FAILED, "Driver/library version mismatch")
    assert told(HALF, gpu=dead, pool=memory(5)) == [("neighbours", INFO), ("not-seen", UNKNOWN)]
    assert told(server("ollama"), gpu=dead) == [("neighbours", INFO), ("not-seen", UNKNOWN)]
    assert told(server("vllm"), gpu=dead)[0] == ("uncapped", WARN)


def test_where_there_is_nothing_to_judge() -> None:
    none, elsewhere = Missing(NOT_FOUND, "no library"), Missing(NOT_COLLECTED, "another device")
    assert told(HALF, gpu=none, platform=Platform(NONE)) == [("skipped", SKIP)]
    assert told(gpu=none, platform=SPARK) == [("not-seen", UNKNOWN)]
    asked = assume(SPARK.profile, CARD)
    assert told(gpu=elsewhere, platform=asked) == [("skipped", SKIP)]
    assert told(HALF, server("sglang", 12), gpu=elsewhere, platform=asked, pool=memory(5)) == [
        *(("uncapped", WARN), ("neighbours", INFO)),
    ]
    old = check_neighbours(Gpu(devices=(device(),)), UNCOLLECTED, memory(), UNCOLLECTED, UNCOLLECTED, SPARK, Plan())
    assert [item.status for item in old] == [SKIP]
