"""Running the collectors: in children with time limits, side by side, so that none can hang or kill the run.

Collectors named in OWN_CHILD get a child each, and those in ON_REQUEST when the host is to be read thoroughly; all
others share one and go in turn. A child is forked, so nothing is imported twice; it reports each result over a pipe.
One that is late is killed and left behind: a process stuck in the kernel cannot be waited for.
"""

from __future__ import annotations

import importlib
import marshal
import os
import select
import struct
import time
from typing import Any, NamedTuple

import gonogo
from gonogo.node import collect
from gonogo.node.facts.codec import document_of, encode_value
from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, TIMED_OUT, Missing
from gonogo.node.ports.host import Host


class Result(NamedTuple):
    """One collector's answer as JSON-ready data."""

    name: str
    section: Any
    seconds: float
    outcome: str = "ok"
    recording: dict[str, Any] | None = None


def gather(host: Host, only: list[str] | None = None, record: bool = False) -> list[Result]:
    """Run every collector (or ``only`` these) against ``host`` and return their results, never raising.

    Those in ON_REQUEST leave no result unless ``host.thorough`` or ``only`` asks for them.

    With ``record`` each result carries what its ports answered.
    """
    return Gathering(host, only, record).results()


class Gathering:
    """Collectors under way; the caller may do something else between the start and :meth:`results`."""

    def __init__(self, host: Host, only: list[str] | None = None, record: bool = False) -> None:
        self._host, self._record = host, record
        _fill_standard_descriptors()
        _reap()
        self._results: dict[str, Result] = {}
        usual = [name for name in collect.names() if host.thorough or name not in collect.ON_REQUEST]
        self._chosen = usual if only is None else only
        self._lanes: list[_Lane] = []
        apart = {*collect.OWN_CHILD, *collect.ON_REQUEST}
        for names in [[name] for name in self._chosen if name in apart]:
            self._start(names)
        shared = [name for name in self._chosen if name not in apart]
        if shared:
            self._start(shared)

    def _start(self, names: list[str]) -> None:
        if not hasattr(os, "fork"):
            for name in names:
                self._results[name] = run_one(name, self._host, self._record)
            return
        self._lanes.append(_Lane(names, self._host, self._record))

    def results(self) -> list[Result]:
        """Wait for what is under way, each collector no longer than its limit."""
        try:
            self._wait()
        except BaseException:  # Ctrl-C: nothing that we started stays behind
            self.stop()
            raise
        _reap_patiently()
        return [self._results[name] for name in self._chosen]

    def stop(self) -> None:
        """End what is under way, without results."""
        while self._lanes:
            self._lanes.pop().stop()

    def _wait(self) -> None:
        while self._lanes:
            poller = select.poll()
            by_descriptor = {lane.descriptor: lane for lane in self._lanes}
            for descriptor in by_descriptor:
                poller.register(descriptor, select.POLLIN | select.POLLHUP)
            wait = min(lane.deadline for lane in self._lanes) - time.monotonic()
            ready = {descriptor for descriptor, _ in poller.poll(max(0.0, wait) * 1000 + 1)}
            for descriptor, lane in by_descriptor.items():
                if descriptor in ready:
                    lane.read(self._results)
                elif time.monotonic() > lane.deadline:
                    lane.give_up(self._results)
                if lane.done:
                    self._lanes.remove(lane)
                    if lane.pending:  # the rest of a shared child goes on in a new one
                        self._start(lane.pending)


#: An ending child needs a fraction of a millisecond; a machine that swaps, more.
PATIENCE_SECONDS = 0.05
#: Children that had not ended when we last looked: reaped whenever the next ones start.
_LEFT_BEHIND: list[int] = []


def _reap() -> None:
    for pid in list(_LEFT_BEHIND):
        try:
            ended = os.waitpid(pid, os.WNOHANG)[0] == pid
        except OSError:  # somebody else has waited for it
            ended = True
        if ended:
            _LEFT_BEHIND.remove(pid)


def _reap_patiently() -> None:
    """Wait a moment for children that are on their way out, so that none is left to an init that never waits.

    One that was given up on may be stuck in the kernel: it is not waited for.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    _reap()
    while _LEFT_BEHIND and time.monotonic() < deadline:
        time.sleep(0.0002)
        _reap()


def _end_on_term() -> None:
    """In a child: SIGTERM unwinds the stack, so that a program which it runs in a session of its own is killed too."""
    import signal

    def end(number: int, frame: Any) -> None:
        raise SystemExit

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides


def _fill_standard_descriptors() -> None:
    """Open what was closed of 0, 1 and 2: a pipe of ours with such a number would be lost when a child redirects."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


class _Lane:
    """A child and the collectors that it still has to do, in order."""

    def __init__(self, pending: list[str], host: Host, record: bool) -> None:
        self.pending, self.done, self._buffer = pending, False, bytearray()
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                os.close(reader)
                # What a library prints in here must not land between our own lines.
                null = os.open(os.devnull, os.O_RDWR)
                for standard in (0, 1, 2):
                    os.dup2(null, standard)
                _end_on_term()
                for name in self.pending:
                    _send(writer, run_one(name, host, record))
            finally:
                os._exit(0)
        os.close(writer)
        self.descriptor = reader
        self._next_deadline()

    def _next_deadline(self) -> None:
        self.deadline = time.monotonic() + (_limit(self.pending[0]) if self.pending else 0.0)

    def read(self, results: dict[str, Result]) -> None:
        chunk = os.read(self.descriptor, 1 << 20)
        self._buffer += chunk
        while True:
            result = _received(self._buffer)
            if result is None:
                break
            results[result.name] = result
            self.pending.remove(result.name)
            self._next_deadline()
        if not self.pending:
            # All said; it is on its way out, and whether it gets there is no concern of ours.
            self._leave()
        elif not chunk:
            _, status = os.waitpid(self.pid, 0)
            ending = f"was killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended early"
            self._lose(results, Missing(FAILED, f"its process {ending}"))
            self._close()

    def stop(self) -> None:
        """End the child now; what it runs itself it ends on its way out."""
        try:
            os.kill(self.pid, 15)
        except OSError:
            pass
        self._leave()

    def give_up(self, results: dict[str, Result]) -> None:
        limit = _limit(self.pending[0])
        self._lose(results, Missing(TIMED_OUT, f"no answer within {limit:g} s"))
        import signal  # 2 ms that a run in which nobody is late need not pay

        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        self._leave()

    def _leave(self) -> None:
        _LEFT_BEHIND.append(self.pid)
        _reap()
        self._close()

    def _lose(self, results: dict[str, Result], why: Missing) -> None:
        name = self.pending.pop(0)
        results[name] = Result(name, encode_value(why), _limit(name), why.reason)

    def _close(self) -> None:
        os.close(self.descriptor)
        self.done = True


def _limit(name: str) -> float:
    return collect.OWN_CHILD.get(name) or collect.ON_REQUEST.get(name, collect.LIMIT_SECONDS)


def run_one(name: str, host: Host, record: bool = False) -> Result:
    """Run one collector here, in this process, without a limit; with ``record`` keep what its ports answered."""
    into: dict[str, Any] | None = None
    if record:
        from gonogo.node.ports import recording  # only for recording: base64 and more

        into = recording.empty()
        host = recording.recording_host(host, into)
    started = time.perf_counter()
    try:
        section = importlib.import_module(f"{collect.__name__}.{name}").collect(host)
    except Exception as error:  # a collector's crash is a fact
        section = Missing(FAILED, f"{type(error).__name__}: {error}"[:200])
    outcome = section.reason if isinstance(section, Missing) else "ok"
    return Result(name, encode_value(section), round(time.perf_counter() - started, 6), outcome, into)


def _send(descriptor: int, result: Result) -> None:
    body = marshal.dumps(tuple(result))
    data = memoryview(struct.pack("<Q", len(body)) + body)
    while data:
        data = data[os.write(descriptor, data) :]


def _received(buffer: bytearray) -> Result | None:
    if len(buffer) < 8:
        return None
    (size,) = struct.unpack_from("<Q", buffer)
    if len(buffer) < 8 + size:
        return None
    fields: tuple[Any, ...] = marshal.loads(bytes(buffer[8 : 8 + size]))
    del buffer[: 8 + size]
    return Result(*fields)


def document(results: list[Result]) -> dict[str, Any]:
    """The facts document of ``results``."""
    runs = [{"name": r.name, "seconds": r.seconds, "outcome": r.outcome} for r in results]
    sections = {r.name: r.section for r in results if r.outcome != NOT_COLLECTED}
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return document_of(sections, runs, now, gonogo.__version__)
