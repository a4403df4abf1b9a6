"""The conductor: collect, judge, weigh. One call, used by every verb that asks whether a machine is fit."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gonogo import catalogue, finding, known, verdict
from gonogo.finding import SKIP, UNKNOWN, Finding, FixStep
from gonogo.node import collection
from gonogo.node.facts.codec import decode
from gonogo.node.facts.document import Facts
from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, UNCOLLECTED, Missing
from gonogo.node.ports.host import Host
from gonogo.plan import Plan
from gonogo.platforms import containment, inventory
from gonogo.platforms.identify import GENERIC, Platform, assume, identify
from gonogo.selection import Selection

if TYPE_CHECKING:
    from gonogo.telemetry.series import Series

if TYPE_CHECKING:
    from gonogo.acceptance import Entry

OTHER_DEVICE = Missing(NOT_COLLECTED, "live GPU readings are of another device than --platform names")


class Request(NamedTuple):
    """What is asked: ``platform`` judges as if on that device, ``plan`` is what the run will need.

    ``accepted`` does not count, through the last days that its entries give: ``today`` is the date (ISO 8601) to
    compare them with, "" for this machine's. ``config`` names the files that all this is from.
    """

    platform: str | None = None
    plan: Plan = Plan()
    selection: Selection = Selection()
    accepted: tuple[Entry, ...] = ()
    today: str = ""
    config: tuple[str, ...] = ()


class Preflight(NamedTuple):
    """The outcome. ``findings`` are in the order of the gotchas' numbers, worst first within each."""

    platform: Platform
    facts: Facts
    findings: tuple[Finding, ...]
    verdict: str
    reasons: tuple[str, ...]
    request: Request
    duration_seconds: float = 0.0

    def of(self, gotcha: str) -> list[Finding]:
        """The findings of one gotcha, worst first."""
        return [item for item in self.findings if item.gotcha == gotcha]


def check(host: Host, request: Request) -> Preflight:
    """Collect this machine's facts and judge them. The judges are loaded while the collectors work."""
    started = time.perf_counter()
    gathering = collection.Gathering(host)
    try:
        for gotcha, entry in catalogue.gotchas().items():
            if request.selection.touches(gotcha):
                _judges(entry)
    except BaseException:
        gathering.stop()
        raise
    facts = decode(collection.document(gathering.results()), forgiving=True)
    return judge(facts, request)._replace(duration_seconds=time.perf_counter() - started)


def judge(facts: Facts, request: Request) -> Preflight:
    """Judge facts, wherever they come from. Raises nothing: a judge that breaks becomes UNKNOWN."""
    started = time.perf_counter()
    sections = dict(facts.sections)
    inside = containment.weigh(sections.get("container", UNCOLLECTED)).inside
    profiles = catalogue.profiles()
    identity, gpu = sections.get("identity", UNCOLLECTED), sections.get("gpu", UNCOLLECTED)
    actual = identify(identity, gpu, profiles, bool(inside))
    platform = actual if request.platform is None else assume(profiles.get(request.platform, GENERIC), actual)
    if platform.assumed:
        sections["gpu"] = OTHER_DEVICE
    given = {
        "platform": platform,
        "plan": request.plan,
        "versions": inventory.versions(sections),
        "collected_at": facts.collected_at,
    }
    found: list[Finding] = []
    for gotcha, entry in catalogue.gotchas().items():
        if request.selection.touches(gotcha):
            own = {**given, "known_rows": known.rows_of(entry)}
            judged = finding.worst_first(_as_counted(_judge_one(gotcha, entry, sections, own), request))
            found += [with_fix(item) for item in judged if request.selection.keeps(item.code)]
    outcome, reasons = verdict.weigh(found, sections, platform)
    return Preflight(platform, facts, tuple(found), outcome, tuple(reasons), request, time.perf_counter() - started)


def judge_series(series: Series, platform: Platform) -> list[Finding]:
    """What the gotchas say of a machine over time, worst first. The evidence of each are places of its samples."""
    found = [
        item
        for entry in catalogue.gotchas().values()
        for judge_ in _judges(entry, "series")
        for item in judge_(series, platform)
    ]
    return [with_fix(item) for item in finding.worst_first(found)]


# -- one gotcha -------------------------------------------------------------------------------------------------------

Judge = Callable[..., Iterator[Finding]]


def _judges(entry: Mapping[str, Any], part: str = "check") -> list[Judge]:
    if part not in entry["parts"]:
        return []
    module = importlib.import_module(f"gonogo.gotchas.{entry['package']}.{part}")
    return [value for name, value in vars(module).items() if name.startswith("check_")]


def _judge_one(
    gotcha: str, entry: Mapping[str, Any], sections: Mapping[str, Any], given: Mapping[str, Any]
) -> list[Finding]:
    """``given`` are the judges' needs that are no section of facts."""
    found: list[Finding] = []
    lacking: dict[str, Finding] = {}
    for judge_ in _judges(entry):
        needs = judge_.__code__.co_varnames[: judge_.__code__.co_argcount]
        arguments: dict[str, Any] = {}
        for need in needs:
            value = given[need] if need in given else sections.get(need, UNCOLLECTED)
            if isinstance(value, Missing) and "Missing" not in judge_.__annotations__[need]:
                lacking.setdefault(need, _lacking(gotcha, need, value, given["platform"]))
                break
            arguments[need] = value
        else:
            try:
                found += judge_(**arguments)
            except Exception as error:  # one judge's mistake must not cost the user the others
                text = f"{judge_.__name__} failed: {type(error).__name__}: {error}"
                found.append(Finding(f"{gotcha}.unknown", UNKNOWN, text[:200]))
    # What lacks a fact speaks up unless the gotcha could be judged without it and the thing is simply not there.
    found += [item for item in lacking.values() if item.status == UNKNOWN or not found]
    in_logs = "not judged beforehand: gonogo diagnose finds it in logs"
    why = in_logs if "signatures" in entry["parts"] else "not checked by this version"
    return found or [Finding(f"{gotcha}.skipped", SKIP, why)]


def _as_counted(found: list[Finding], request: Request) -> list[Finding]:
    if not request.accepted:
        return found
    from gonogo import acceptance  # a millisecond that a run without an accept list need not pay

    today = request.today or time.strftime("%Y-%m-%d")
    return [acceptance.applied(item, request.accepted, today) for item in found]


def _lacking(gotcha: str, section: str, why: Missing, platform: Platform) -> Finding:
    # A Spark has a GPU and its driver: there, silence is no absence.
    absent = why.reason == NOT_COLLECTED or (why.reason == NOT_FOUND and not (section == "gpu" and platform.is_spark))
    no_gpu = "no NVIDIA driver" if platform.gpu_expected else "no NVIDIA GPU"
    what = {"gpu": no_gpu, "python": "no Python to judge"}.get(section) if why.reason == NOT_FOUND else None
    if absent:
        return Finding(f"{gotcha}.skipped", SKIP, what or (why.detail or f"{section}: {why}"))
    return Finding(f"{gotcha}.unknown", UNKNOWN, f"{section}: {why}")


def _filled(template: str, values: Mapping[str, str]) -> str | None:
    try:
        return template.format_map(values)
    except KeyError:
        return None


def with_fix(item: Finding) -> Finding:
    """The finding with the catalogue's steps for its code, those that its values fill; unchanged where it has some."""
    entry = catalogue.gotchas()[item.gotcha]
    steps = entry.get("code", {}).get(item.code.partition(".")[2], {}).get("fix", ())
    if item.fix or not steps:
        return item
    fix = []
    for row in steps:
        step, undo = (_filled(row.get(part, ""), item.values) for part in ("step", "undo"))
        if step is not None:  # a step that needs what the judge did not give does not apply here
            fix.append(FixStep(step, row["impact"], "put back what was installed before" if undo is None else undo))
    return item._replace(fix=tuple(fix))
