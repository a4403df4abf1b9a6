"""Collectors that raise, crash, hang or talk: each costs its own facts and nobody else's.

The collectors here are tiny modules in a folder of the test's, put in place of the package's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gonogo
from gonogo.node import collect, collection
from gonogo.node.collection import Gathering, Result, gather
from gonogo.node.ports.host import live_host

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork nothing runs in children"),
    # pytest-xdist has a thread of its own in each worker; Python 3.12 and later warn of forking beside one.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]

HOST = live_host()
OK = "def collect(host): return {{'said': '{0}'}}"
BEHAVIOUR = {
    "raises": "def collect(host): raise KeyError('no such thing')",
    "missing": "from gonogo.node.facts.missing import Missing\n"
    "def collect(host): return Missing('not_supported', 'by nature')",
    # pytest's fault handler would print its stack.
    "crashes": "import faulthandler, os, signal\n"
    "def collect(host):\n    faulthandler.disable()\n    os.kill(os.getpid(), signal.SIGSEGV)",
    "hangs": "import time\ndef collect(host): time.sleep(60)",
    "exits": "import os\ndef collect(host): os._exit(3)",
    "leaves": "import sys\ndef collect(host): sys.exit('gone')",
    "broken": "def collect(host: this is no Python",
    "empty": "",
    "object": "def collect(host): return object()",
    "deep": "def collect(host):\n    found = []\n    for _ in range(100000): found = [found]\n    return found",
    "talks": "import os\nprint('on import')\ndef collect(host):\n    print('loud', flush=True)\n"
    "    os.write(1, b'o'); os.write(2, b'e')\n    return {'printed': True}",
    "reads": "import sys\ndef collect(host): return {'stdin': sys.stdin.read()}",
    "large": "def collect(host): return {'text': 'x' * 8_000_000}",
    "session": "import os\ndef collect(host): return {'own': os.getsid(0) == os.getpid()}",
}

Run = Callable[..., dict[str, Result]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Gather with collectors of these names, in this order; a name that is no behaviour answers with its own name.

    ``limit`` is for all; names in ``own`` get a child each.
    """

    def go(*names: str, own: tuple[str, ...] = (), limit: float = 20.0, **options: Any) -> dict[str, Result]:
        for name in names:
            kind = name.partition("_")[0]
            (tmp_path / f"{name}.py").write_text(BEHAVIOUR.get(kind) or (OK.format(name) if kind != "empty" else ""))
        monkeypatch.setattr(collect, "__path__", [str(tmp_path)])
        monkeypatch.setattr(collect, "OWN_CHILD", dict.fromkeys(own, limit))
        monkeypatch.setattr(collect, "LIMIT_SECONDS", limit)
        results = gather(options.pop("host", HOST), only=list(names), **options)
        assert [result.name for result in results] == list(names)
        return {result.name: result for result in results}

    return go


@pytest.fixture(autouse=True)
def _no_descriptor_stays_open() -> Iterator[None]:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0

    before = count()
    yield
    assert count() == before


def good(results: dict[str, Result], *names: str) -> None:
    assert {name: results[name].section for name in names} == {name: {"said": name} for name in names}
    assert {results[name].outcome for name in names} == {"ok"}


# -- one that fails, and the rest -------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(
    "kind, reason, detail",
    [
        ("raises", "failed", "KeyError: 'no such thing'"),
        ("missing", "not_supported", "by nature"),
        ("crashes", "failed", "its process was killed by signal 11"),
        ("exits", "failed", "its process ended early"),
        ("leaves", "failed", None),
        ("broken", "failed", None),
        ("empty", "failed", None),
        ("object", "failed", None),
        ("deep", "failed", None),
    ],
)
def test_one_that_fails_costs_no_other(run: Run, kind: str, reason: str, detail: str | None, own: bool) -> None:
    results = run("first", kind, "last", own=(kind,) if own else ())
    good(results, "first", "last")
    lost = results[kind]
    assert (lost.outcome, lost.section["missing"]) == (reason, reason)
    assert detail in (None, lost.section["detail"])
    assert len(str(lost.section.get("detail", "")).splitlines()) <= 1


@pytest.mark.parametrize("own", [False, True])
def test_one_that_hangs_costs_no_other(run: Run, own: bool) -> None:
    results = run("first", "hangs", "last", own=("hangs",) if own else (), limit=1.0)
    good(results, "first", "last")
    assert results["hangs"].section == {"missing": "timed_out", "detail": "no answer within 1 s"}


def test_the_shared_child_goes_on_after_every_loss(run: Run) -> None:
    names = ("a", "crashes_1", "b", "hangs_1", "crashes_2", "c", "exits_1", "hangs_2", "raises_1", "d")
    results = run(*names, limit=1.0)
    good(results, "a", "b", "c", "d")
    outcomes = {name: result.outcome for name, result in results.items() if result.outcome != "ok"}
    assert outcomes == {
        **dict.fromkeys(("crashes_1", "crashes_2", "exits_1", "raises_1"), "failed"),
        **dict.fromkeys(("hangs_1", "hangs_2"), "timed_out"),
    }


def test_all_of_them_lost(run: Run) -> None:
    results = run("crashes", "hangs", "exits", own=("hangs",), limit=1.0)
    assert [result.outcome for result in results.values()] == ["failed", "timed_out", "failed"]


def test_children_of_their_own_run_side_by_side(run: Run) -> None:
    # Each waits for the other's file: one after the other they would never end.
    wait = (
        "import os, time\ndef collect(host):\n    here = os.path.dirname(__file__)\n"
        "    open(os.path.join(here, '{0}.done'), 'w').close()\n"
        "    while not os.path.exists(os.path.join(here, '{1}.done')): time.sleep(0.01)\n    return {{}}"
    )
    BEHAVIOUR.update(one=wait.format("one", "two"), two=wait.format("two", "one"))
    try:
        results = run("one", "two", own=("one", "two"))
    finally:
        del BEHAVIOUR["one"], BEHAVIOUR["two"]
    assert [result.outcome for result in results.values()] == ["ok", "ok"]


def test_a_grandchild_that_keeps_the_pipe_open(run: Run) -> None:
    # Forked, not started: it holds the writing end, so that the end of the child cannot be seen there.
    BEHAVIOUR["forks"] = (
        "import os, signal, time\ndef collect(host):\n    if os.fork() == 0:\n        time.sleep(60)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    try:
        results = run("first", "forks", "last", limit=0.5)
    finally:
        del BEHAVIOUR["forks"]
    good(results, "first", "last")
    assert results["forks"].outcome in ("failed", "timed_out")


def test_what_is_left_behind_dies(tmp_path: Path, run: Run) -> None:
    mark = f"mark-{uuid.uuid4().hex}"
    BEHAVIOUR["starts"] = (
        f"import subprocess\ndef collect(host):\n    subprocess.run(['/bin/sh', '-c', 'sleep 60; : {mark}'])"
    )
    try:
        assert run("starts", limit=0.5)["starts"].outcome == "timed_out"
    finally:
        del BEHAVIOUR["starts"]
    for _ in range(500):
        if not any(mark.encode() in _command_line(process) for process in Path("/proc").glob("[0-9]*")):
            return
        time.sleep(0.02)
    raise AssertionError("the program of a collector that was late still runs")


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


# -- what a child can and cannot do -----------------------------------------------------------------------------------


def test_nothing_a_collector_prints_gets_out(tmp_path: Path) -> None:
    # In a process of its own: pytest's own capturing does not go through descriptor 1.
    (tmp_path / "talks.py").write_text(BEHAVIOUR["talks"])
    program = (
        "from gonogo.node import collect, collection\nfrom gonogo.node.ports.host import live_host\n"
        f"collect.__path__ = [{str(tmp_path)!r}]\nprint('before')\n"
        "print(collection.gather(live_host())[0].section)\n"
    )
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (completed.stdout, completed.stderr) == ("before\n{'printed': True}\n", "")


def test_a_session_of_its_own_and_no_input(run: Run) -> None:
    results = run("session", "reads")
    assert results["session"].section == {"own": True}
    assert results["reads"].outcome in ("ok", "failed")


def test_a_large_result_comes_whole(run: Run) -> None:
    results = run("large", "last", "large_2", own=("large_2",))
    assert [len(results[name].section["text"]) for name in ("large", "large_2")] == [8_000_000] * 2
    good(results, "last")


def test_collectors_are_imported_in_the_child_only(run: Run) -> None:
    run("first")
    assert f"{collect.__name__}.first" not in sys.modules


def test_only_those_asked_for(run: Run, tmp_path: Path) -> None:
    run("first", "last")
    assert [result.name for result in gather(HOST)] == ["first", "last"]
    assert [result.name for result in gather(HOST, only=["last"])] == ["last"]
    assert gather(HOST, only=[]) == []
    assert [(r.name, r.outcome) for r in gather(HOST, only=["no_such"])] == [("no_such", "failed")]


def test_something_else_may_be_done_meanwhile(run: Run) -> None:
    run("first")
    gathering = Gathering(HOST)
    time.sleep(0.05)
    assert [result.section for result in gathering.results()] == [{"said": "first"}]


def test_a_system_without_fork(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    results = run("first_here", "raises_here", "missing_here", own=("raises_here",))
    good(results, "first_here")
    assert [result.outcome for result in results.values()] == ["ok", "failed", "not_supported"]


def test_many_runs_leave_no_growing_number_of_children(run: Run) -> None:
    # A dead child that nobody waited for keeps its place in the process table; those of the last run may still do so.
    before = _children()
    for _ in range(10):
        run("first", "last", own=("first",))
    for _ in range(100):
        if len(_children() - before) <= 2:
            return
        time.sleep(0.02)
    raise AssertionError(_children() - before)


def _children() -> set[str]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if stat.read_text().rpartition(")")[2].split()[1] == str(os.getpid()):  # proc(5): state, then ppid
                found.add(stat.parent.name)
        except OSError:
            pass
    return found


# -- what is made of the results --------------------------------------------------------------------------------------


def test_the_document(run: Run) -> None:
    BEHAVIOUR["later"] = (
        "from gonogo.node.facts.missing import Missing\ndef collect(host): return Missing('not_collected')"
    )
    try:
        results = run("first", "later", "raises")
    finally:
        del BEHAVIOUR["later"]
    document = json.loads(json.dumps(collection.document(list(results.values()))))
    assert (document["schema"], document["tool_version"]) == ("gonogo/facts", gonogo.__version__)
    assert list(document["sections"]) == ["first", "raises"]
    runs = {run["name"]: run["outcome"] for run in document["collectors"]}
    assert runs == {"first": "ok", "later": "not_collected", "raises": "failed"}
    time.strptime(document["collected_at"], "%Y-%m-%dT%H:%M:%SZ")
