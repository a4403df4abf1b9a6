"""``nagios``: a monitoring plugin's output, for Nagios, Icinga, Naemon and all that read the same form.

One line with the state and performance data, then one line for each finding that asks for attention, as the Monitoring
Plugins Development Guidelines and the plugin API of Nagios say. Values are whole numbers or fractions, never with an
exponent; the units are those that every monitor knows (B, s), others stand in the label.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.finding import SKIP, STATUSES, UNKNOWN, Finding, rank, worst_first
from gonogo.node.facts.missing import UNCOLLECTED, Missing, known
from gonogo.node.facts.sections.gpu import devices_of
from gonogo.preflight import Preflight
from gonogo.printable import printable
from gonogo.report import Style
from gonogo.verdict import GO, NO_GO, reason_of

STATES = OK, WARNING, CRITICAL, UNDECIDED = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
_REASON_LENGTH = 200  # the first line goes into notifications; the findings follow in full


def render(preflight: Preflight, style: Style) -> str:
    """``verbose`` adds the findings that need no attention."""
    head = f"{first_line(_state(preflight), _summary(preflight))}|{' '.join(_performance(preflight))}"
    shown = [item for item in worst_first(preflight.findings) if style.verbose or _speaks_up(item)]
    return "\n".join([head, *map(one_line, _other_reasons(preflight)), *map(_line, shown)]) + "\n"


def exit_status(preflight: Preflight) -> int:
    """0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN."""
    return STATES.index(_state(preflight))


def first_line(state: str, text: str) -> str:
    """The line that tells the state, without performance data."""
    return f"GONOGO {state} - {one_line(text)}"


def one_line(text: str) -> str:
    """Text as it may stand in a plugin's output, where a pipe begins performance data."""
    return printable(text).replace("|", "/")


def _state(preflight: Preflight) -> str:
    """No-go stands even where no finding was judged: a GPU that does not answer is reason enough."""
    statuses = {item.status for item in preflight.findings}
    if preflight.verdict == NO_GO:
        return CRITICAL
    if UNKNOWN in statuses and statuses <= {UNKNOWN, SKIP}:
        return UNDECIDED
    return OK if preflight.verdict == GO else WARNING


def _summary(preflight: Preflight) -> str:
    reasons = list(preflight.reasons)
    head = preflight.verdict
    if _state(preflight) == UNDECIDED:
        head, reasons = "nothing could be judged", [reason_of(item) for item in _with_status(preflight, UNKNOWN)]
    if reasons:
        first = reasons[0] if len(reasons[0]) <= _REASON_LENGTH else reasons[0][: _REASON_LENGTH - 3] + "..."
        return f"{head}: {first}{f' (+{len(reasons) - 1} more)' if reasons[1:] else ''}"
    counts = {"unknown": len(_with_status(preflight, UNKNOWN)), "accepted": len(_accepted(preflight))}
    told = [f", {count} {what}" for what, count in counts.items() if count]
    return f"{head}: {preflight.platform.profile.title}{''.join(told)}"


def _other_reasons(preflight: Preflight) -> list[str]:
    """What the verdict rests on beside findings: no GPU, no training environment."""
    told = {reason_of(item) for item in preflight.findings}
    return [reason for reason in preflight.reasons if reason not in told]


def _line(item: Finding) -> str:
    return one_line(f"{item.gotcha} {item.status}: {item.message}")


def _speaks_up(item: Finding) -> bool:
    return rank(item.status) >= rank(UNKNOWN) or item.accepted is not None


def _with_status(preflight: Preflight, status: str) -> list[Finding]:
    return [item for item in preflight.findings if item.status == status]


def _accepted(preflight: Preflight) -> list[Finding]:
    return [item for item in preflight.findings if item.accepted]


# -- performance data: 'label'=value[UOM];[warn];[crit];[min];[max] ---------------------------------------------------


def _performance(preflight: Preflight) -> Iterator[str]:
    for status in STATUSES:
        yield f"{status.lower()}={len(_with_status(preflight, status))};;;0"
    yield f"accepted={len(_accepted(preflight))};;;0"
    memory = preflight.facts.sections.get("memory", UNCOLLECTED)
    if not isinstance(memory, Missing):
        available, total = known(memory.available_bytes), known(memory.total_bytes)
        if available is not None:
            yield f"memory_available={available}B;;;0;{'' if total is None else total}"
    # Those of another device than --platform names say nothing of what was judged.
    devices = () if preflight.platform.assumed else devices_of(preflight.facts.sections.get("gpu", UNCOLLECTED))
    for device in devices:
        temperature, power = known(device.temperature_celsius), known(device.power_watts)
        if temperature is not None:
            yield f"gpu{device.device_index}_temperature_celsius={temperature}"
        if power is not None:
            yield f"gpu{device.device_index}_power_watts={power:.2f};;;0"
    yield f"duration={preflight.duration_seconds:.4f}s;;;0"
