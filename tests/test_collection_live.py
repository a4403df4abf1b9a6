"""The real collectors, all of them: on this machine, from its own record, and on a machine that answers nothing."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from gonogo.node import collection, raw
from gonogo.node.collection import gather
from gonogo.node.facts.codec import decode
from gonogo.node.ports.host import Host, live_host

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork nothing runs in children"),
    # pytest-xdist has a thread of its own in each worker; Python 3.12 and later warn of forking beside one.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]

HOST = live_host()


def test_this_machine_live_and_from_its_own_record() -> None:
    # With nothing redacted the replay must be the very same facts, figures and all.
    results = gather(HOST, record=True)
    assert {result.outcome for result in results} <= {"ok", "not_found"}
    record = json.loads(json.dumps(raw.document(results)))
    replayed = gather(raw.host_of(record))
    assert [(r.name, r.outcome) for r in replayed] == [(r.name, r.outcome) for r in results]
    assert {r.name: r.section for r in replayed} == {r.name: r.section for r in results}
    assert decode(collection.document(replayed)).sections == decode(collection.document(results)).sections


def test_a_host_that_knows_nothing_gives_a_readable_document() -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no port")

    host: Any = Host(Broken(), Broken(), Broken(), {})  # type: ignore[arg-type]
    facts = decode(json.loads(json.dumps(collection.document(gather(host)))))
    # The launch environment is the one thing that is read without a port; it is empty here.
    outcomes = {run.name: run.outcome for run in facts.collectors}
    assert outcomes.pop("launch") == "ok"
    assert set(outcomes.values()) <= {"failed", "not_found"}
