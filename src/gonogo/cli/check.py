"""``gonogo check``: the preflight."""

from __future__ import annotations

import argparse
import os
import re
import sys

from gonogo import catalogue, report, selection
from gonogo.cli import UsageError, _config, _streams
from gonogo.finding import STATUSES, rank
from gonogo.node.facts.missing import Missing
from gonogo.node.facts.sections.python import Python
from gonogo.node.ports.host import Host, live_host
from gonogo.plan import Plan
from gonogo.platforms.identify import GENERIC
from gonogo.preflight import Preflight, Request, check, judge
from gonogo.selection import Selection
from gonogo.units import parse_size

HELP = "judge this machine before a run, in a fraction of a second, changing nothing"
NEVER, NAGIOS = "never", "nagios"
SMALLEST_NEED_BYTES = 1 << 20
FAIL_ON = [status.lower() for status in reversed(STATUSES) if status not in ("PASS", "SKIP")] + [NEVER]


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``check``."""
    parser.add_argument("--format", default="text", metavar="F", help=f"{', '.join(report.names())} (default: text)")
    parser.add_argument("--output", metavar="FILE", help="write the result there instead of to standard output")
    parser.add_argument("--select", action="append", default=[], metavar="G1,G3", help="only these gotchas or codes")
    parser.add_argument("--ignore", action="append", default=[], metavar="G9", help="not these")
    parser.add_argument(
        "--fail-on",
        type=str.lower,
        choices=FAIL_ON,
        metavar="STATUS",
        help=f"exit 1 on a finding at or above STATUS: {', '.join(FAIL_ON)} (default: fail; never: always 0)",
    )
    parser.add_argument(
        "--python", metavar="P", help="judge this interpreter's environment (a file, a folder, a command)"
    )
    parser.add_argument("--platform", metavar="ID", help=f"judge as if on {', '.join(catalogue.profiles())}")
    parser.add_argument(
        "--facts", metavar="FILE", help="judge a record (gonogo record) instead of this machine; - reads it"
    )
    parser.add_argument("--need", metavar="SIZE", help="memory that the run will allocate: 70GiB, 70GB")
    parser.add_argument("--thorough", action="store_true", help="also what is slow or may ask the network: updates")
    parser.add_argument(
        "--no-config", action="store_true", help=f"leave {_config.NAME} unread, here and in ~/.config/gonogo"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="evidence, codes, skipped checks, collectors' times, config files"
    )


def run(options: argparse.Namespace) -> int:
    """0, or 1 on no-go and on a finding at or above --fail-on; with nagios its own. Raises UsageError."""
    render = report.renderer(options.format)
    if render is None:
        raise UsageError(f"unknown format {options.format!r}: one of {', '.join(report.names())}")
    if options.facts is not None and options.python is not None:
        raise UsageError("--facts judges a record, --python this machine: give one of them")
    if options.facts is not None and options.thorough:
        raise UsageError("--facts judges a record, --thorough asks this machine: give one of them")
    if options.format == NAGIOS and options.fail_on is not None:
        raise UsageError("the exit statuses of --format nagios are fixed: leave --fail-on out")
    request = _request(options)
    if options.facts is not None:
        preflight = _replayed(options.facts, request)
    else:
        preflight = _live(options.python, request, options.thorough)
    from gonogo.cli import _output

    if options.format == NAGIOS:
        from gonogo.report import nagios

        # The result first: some monitors read both streams as one, and the first line is the state.
        _output.write(render(preflight, _style(options)), options.output)
        for line in _asides(preflight):
            _streams.write_error(nagios.one_line(line))
        return nagios.exit_status(preflight)
    if options.format != "text":
        for line in _asides(preflight):
            _streams.write_error(line)
    _output.write(render(preflight, _style(options)), options.output)
    return _status(preflight, options.fail_on or "fail")


def _asides(preflight: Preflight) -> list[str]:
    """What must be said beside the formats that are for programs."""
    accepted = [item.accepted for item in preflight.findings if item.accepted]
    lines = [report.judged_environment(preflight)]
    if accepted:
        sources = " and ".join(dict.fromkeys(item.source for item in accepted))
        lines.append(f"gonogo check: {len(accepted)} finding{'s'[: len(accepted) > 1]} accepted by {sources}")
    return lines


def _request(options: argparse.Namespace) -> Request:
    if options.platform not in (None, GENERIC.id, *catalogue.profiles()):
        raise UsageError(f"unknown platform {options.platform!r}: one of {', '.join(catalogue.profiles())}")
    gotchas, codes = catalogue.gotchas(), catalogue.codes()
    try:
        chosen = Selection(
            selection.parse(options.select, gotchas, codes), selection.parse(options.ignore, gotchas, codes)
        )
        need = parse_size(options.need) if options.need is not None else None
    except ValueError as error:
        raise UsageError(str(error)) from None
    if need is not None and need < SMALLEST_NEED_BYTES:
        raise UsageError(f"--need {options.need} is {need} bytes: write the unit, such as 70GiB")
    config = _config.Config() if options.no_config else _config.load()
    return Request(options.platform, Plan(need), chosen, config.accepted, config=config.files)


def _live(python: str | None, request: Request, thorough: bool) -> Preflight:
    host = live_host(python or "", thorough)
    if python is not None:
        refuse_no_python(host, python)
    preflight = check(host, request)
    section = preflight.facts.sections.get("python")
    if python is not None and isinstance(section, Python):
        refuse_other_program(python, section.executable, section.start)
    return preflight


def _replayed(source: str, request: Request) -> Preflight:
    from gonogo.cli import _input
    from gonogo.node import collection, raw
    from gonogo.node.facts.codec import decode

    data = _input.read_json(source)
    try:
        if isinstance(data, dict) and data.get("schema") == raw.SCHEMA:
            replayed = collection.document(collection.gather(raw.host_of(data)))
            return judge(decode(replayed, forgiving=True), request)
        return judge(decode(data), request)
    except ValueError as error:  # FactsError among them
        raise UsageError(f"{source}: {error}") from None


def refuse_no_python(host: Host, python: str) -> None:
    """Raises UsageError where --python names nothing that could be run."""
    from gonogo.node import interpreter

    choice = interpreter.choose(host)
    if not python or isinstance(choice, Missing) or host.files.kind(choice.executable) != "file":
        raise UsageError(f"--python {python}: no such interpreter")
    if not os.access(choice.executable, os.X_OK):
        raise UsageError(f"--python {python}: not executable")


def refuse_other_program(python: str, executable: str, start: bool | Missing) -> None:
    """A Python that crashes, hangs or prints noise is a finding; a program that is no Python is a wrong call."""
    if not isinstance(start, Missing):
        return
    names = [executable, os.path.realpath(executable)]
    if not any(re.match(r"(?:python|pypy)[0-9.]*$", name.rpartition("/")[2]) for name in names):
        raise UsageError(f"--python {python}: no Python ({(start.detail or str(start)).partition(', said')[0]})")


def _style(options: argparse.Namespace) -> report.Style:
    to_terminal = options.output in (None, "-") and sys.stdout is not None and sys.stdout.isatty()
    color = to_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = os.get_terminal_size(sys.stdout.fileno()).columns or 100 if to_terminal else 100
    return report.Style(options.verbose, color, min(width, 140))


def _status(preflight: Preflight, fail_on: str) -> int:
    if fail_on == NEVER:
        return 0
    limit = rank(fail_on.upper())
    return int(preflight.verdict == "no-go" or any(rank(item.status) >= limit for item in preflight.findings))
