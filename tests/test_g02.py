"""G2 from what is installed. The rules are those of the field's table: absence passes, presence alone is no fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gonogo.finding import Finding
from gonogo.node.facts.codec import decode
from gonogo.preflight import Request, judge
from gonogo.selection import Selection


@pytest.fixture
def judged(spark: Callable[..., Any]) -> Callable[..., Finding]:
    def one(**changes: Any) -> Finding:
        (found,) = judge(decode(spark(python=changes)), Request(selection=Selection(("G2",)))).findings
        return found

    return one


def packages(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "version": "1.2.3", "folder": "/site"} for name in names]


@pytest.mark.parametrize(
    ("names", "status"),
    [
        ((), "PASS"),
        (("unsloth", "unsloth-zoo"), "PASS"),
        (("flash-attn",), "INFO"),
        (("flash-attn", "unsloth-zoo"), "INFO"),
        (("flash-attn", "unsloth"), "UNKNOWN"),
        (("flash-linear-attention", "flashinfer-python", "unsloth"), "PASS"),  # other packages than flash-attn
    ],
)
def test_what_is_installed(judged: Callable[..., Finding], names: tuple[str, ...], status: str) -> None:
    assert judged(distributions=packages("torch", *names)).status == status


def test_without_torch_there_is_nothing_to_judge(judged: Callable[..., Finding]) -> None:
    assert judged(torch={"missing": "not_found"}).status == "SKIP"


def test_what_could_not_be_read_is_not_passed(judged: Callable[..., Finding]) -> None:
    assert judged(torch={"missing": "failed"}).status == "UNKNOWN"
    assert judged(distributions={"missing": "permission_denied"}).status == "UNKNOWN"
