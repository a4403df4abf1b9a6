"""G6's judge on cards with memory of their own. Expected figures are worked out by hand."""

from __future__ import annotations

from made_neighbours import CARD, HALF, device, plain, server, told, worker

from gonogo.finding import FAIL, INFO, WARN

FULL, LESS = device(0, 80, 4, p10=76), device(1, 80, 40, p20=40)


def test_cards() -> None:
    """vLLM's default is 0.9 of 80 GiB: 72; 0.5 is 40."""
    free, small = device(2, 80, 80), device(1, 80, 77, p20=3)
    assert told(server("vllm"), gpu=(FULL, free), platform=CARD) == [("other-cards", INFO)]
    assert told(server("vllm"), gpu=FULL, platform=CARD) == [("uncapped", WARN)]
    assert told(server("vllm"), plain("training"), gpu=(FULL, LESS), platform=CARD) == [("uncapped", WARN)]
    assert told(server("vllm"), plain("training"), gpu=(FULL, small), platform=CARD) == [("neighbours", INFO)]
    assert told(HALF, gpu=device(0, 80, 40, p10=40), platform=CARD, need=30) == [("neighbours", INFO)]
    assert told(HALF, gpu=device(0, 80, 60, p10=20), platform=CARD, need=41) == [("plan-beside-neighbours", FAIL)]
    assert told(HALF, gpu=device(0, 80, 60, p10=20), platform=CARD, need=81) == [("neighbours", INFO)]
    assert told(HALF, gpu=device(0, 80, 15, p10=20), platform=CARD) == [("promises-exceed", FAIL)]
    parts = device(0, 80, 4, p10=76)._replace(mig_enabled=True)
    assert told(server("vllm"), gpu=parts, platform=CARD) == [("neighbours", INFO)]
    assert told(server("vllm"), server("ollama", 12), platform=CARD) == [("neighbours", INFO), ("on-demand", INFO)]
    orphan = worker("vllm", 10, 1, "systemd")
    assert told(orphan, gpu=FULL, platform=CARD) == [("orphan", WARN)]
    assert told(orphan, gpu=(FULL, free), platform=CARD) == [("orphan", WARN), ("other-cards", INFO)]


def test_only_the_cards_that_the_run_will_see_count() -> None:
    cards = (FULL, device(1, 80, 80))
    seen = {"gpu": cards, "platform": CARD}
    assert told(server("vllm"), variables={"CUDA_VISIBLE_DEVICES": "0"}, **seen) == [("uncapped", WARN)]
    assert told(server("vllm"), variables={"CUDA_VISIBLE_DEVICES": "1"}, **seen) == [("other-cards", INFO)]
