"""G4 from one sample, which shows an active slowdown and can suspect a stuck power contract, never by watts alone; and
from the login records, which show boots that ended without a shutdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from gonogo.finding import FAIL, HIGH, INFO, MEDIUM, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, TIMED_OUT, Missing, known
from gonogo.node.facts.sections.boots import Boot, Boots
from gonogo.node.facts.sections.container import Container
from gonogo.node.facts.sections.driver import Driver
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice, devices_of
from gonogo.platforms.containment import weigh
from gonogo.platforms.identify import Platform

#: Below this a sample says nothing about clocks and heat under load.
LOAD_PERCENT = 80
#: A clock before 2017 was never set.
SENSIBLE_CLOCK = 1_500_000_000
THERMAL = ("sw_thermal_slowdown", "hw_thermal_slowdown")
#: "hw_slowdown" is set by heat, by the power brake and by a current that rose too fast: alone it does not say which.
SLOWDOWN = (*THERMAL, "hw_slowdown", "hw_power_brake_slowdown")

#: Boots that ended longer ago say nothing of now, and so many within that time are no accident.
CUT_DAYS, REPEATED_CUTS = 14, 3
#: What the end of a journal says of a cut (tests/machines: NVIDIA/open-gpu-kernel-modules#1358): not the power.
BY_HAND = re.compile("Power key pressed")
OUT_OF_MEMORY = re.compile("oom-kill:|Out of memory|NV_ERR_NO_MEMORY|systemd-oomd|sending SIG(TERM|KILL) to process")
CRASHED = re.compile("Kernel panic|kernel BUG at|Internal error: |Unable to handle kernel|watchdog: BUG|hard LOCKUP")
HOT = re.compile("critical temperature|thermal .*shut")
#: A saved crash is named after its time: dmesg-efi-173876543501001, 1738765435.
_SAVED_AT = re.compile(r"(?<![0-9])([12][0-9]{9})[0-9]{0,6}(?![0-9])")


def check_sample(
    gpu: Gpu | Missing, driver: Driver | Missing, container: Container | Missing, platform: Platform
) -> Iterator[Finding]:
    """Each GPU by itself; those at rest share a line."""
    if isinstance(gpu, Missing) and (platform.assumed or gpu.reason == NOT_COLLECTED):
        yield Finding("G4.skipped", SKIP, gpu.detail or f"gpu: {gpu}")
    elif isinstance(gpu, Missing) and gpu.reason == NOT_FOUND and not platform.is_spark:
        yield Finding("G4.skipped", SKIP, "no NVIDIA driver" if platform.gpu_expected else "no NVIDIA GPU")
    elif isinstance(gpu, Missing) or isinstance(gpu.devices, Missing):
        why = gpu if isinstance(gpu, Missing) else _why_silent(gpu)
        values = _silence(why, driver, container)
        yield Finding("G4.no-answer", UNKNOWN, f"the NVIDIA driver does not answer: {why.detail or why}", values=values)
    elif not gpu.devices:
        yield Finding("G4.no-answer", UNKNOWN, "the NVIDIA driver shows no GPU", values={"log": "", **_in(container)})
    else:
        several = len(gpu.devices) > 1
        found = [
            row for device in gpu.devices for row in _judge(device, platform, f"GPU {device.device_index}: " * several)
        ]
        yield from _folded(found)


def _why_silent(gpu: Gpu) -> Missing:
    """Why the devices of a driver that was reached are missing."""
    return gpu.devices if isinstance(gpu.devices, Missing) else Missing(NOT_COLLECTED)


def _silence(why: Missing, driver: Driver | Missing, container: Container | Missing) -> dict[str, str]:
    """Which steps fit a driver that is silent; the keys are the placeholders of the steps."""
    said = why.detail.lower()
    if "mismatch" in said:
        return {"mismatch": ""}
    inside = _in(container)
    if inside and why.reason == NOT_FOUND:
        return inside
    if why.reason == TIMED_OUT:
        return {"hang": "", "log": ""}
    module = None if isinstance(driver, Missing) else known(driver.kernel_module_version)
    return {"log": ""} if module else {"not_loaded": "", "log": ""}


def _in(container: Container | Missing) -> dict[str, str]:
    return {"container": ""} if weigh(container).inside else {}


def _folded(found: list[Finding]) -> Iterator[Finding]:
    """Each GPU that works or is in trouble by itself; those that rest share a line."""
    resting = [item for item in found if item.code == "G4.reading"]
    yield from (item for item in found if item.code != "G4.reading")
    if resting:
        more = f" (and {len(resting) - 1} more alike)" if len(resting) > 1 else ""
        yield resting[0]._replace(message=resting[0].message + more)


def _judge(device: GpuDevice, platform: Platform, prefix: str) -> Iterator[Finding]:
    reading = _reading(device)
    if reading is None:
        why = next(
            (f for f in (device.temperature_celsius, device.power_watts) if isinstance(f, Missing)), "no reading"
        )
        yield Finding("G4.unknown", UNKNOWN, f"{prefix}temperature and power: {why}")
        return
    if _implausible(device):
        yield Finding("G4.unknown", UNKNOWN, f"{prefix}{reading} ({_state(device)}) is no reading to believe")
        return
    reasons, evidence = known(device.event_reasons_active) or (), _evidence(device)
    utilization = known(device.utilization_gpu_percent)
    active = [reason for reason in SLOWDOWN if reason in reasons]
    text = f"{reading} ({_state(device)})"
    if any(reason in THERMAL for reason in active):
        code, status, says = "G4.thermal-slowdown", WARN, f"{active[0]} is active now"
    elif "hw_power_brake_slowdown" in active:
        code, status, says = "G4.power-brake", WARN, "the hardware power brake is active now"
    elif "hw_slowdown" in active:
        code, status, says = "G4.hw-slowdown", WARN, "the hardware slowdown is active now"
    elif _hot_and_slow(device, platform):
        code, status, says = "G4.hot-and-slow", WARN, "low clock at the onset of thermal slowdown"
    elif _looks_stuck(device, platform):
        code, status, says = (
            "G4.looks-stuck",
            WARN,
            "busy, slow, cool and nothing holds it back: a stuck power contract?",
        )
    elif utilization is None or utilization < LOAD_PERCENT:
        idle = "idle" if utilization == 0 else "not under load" if utilization is not None else "load unknown"
        code, status, says = "G4.reading", INFO, f"{idle}: not judged"
    elif isinstance(device.event_reasons_active, Missing):
        code, status, says = "G4.reading", INFO, "whether something slows it down is not readable: not judged"
    else:
        at_limit = "at its power limit, " if "sw_power_cap" in reasons else ""
        code, status, says = "G4.ok", PASS, f"under load, {at_limit}no slowdown by heat"
    values = {"spark": ""} if platform.is_spark else {"card": ""}
    confidence = MEDIUM if code in ("G4.looks-stuck", "G4.hot-and-slow") else HIGH
    # The reading comes first: scripts take "T, P W" from the start of this line.
    yield Finding(code, status, f"{text}, {prefix}{says}", evidence, confidence, values=values)


def _reading(device: GpuDevice) -> str | None:
    """ "36, 3.10 W", the form of nvidia-smi's CSV."""
    temperature, power = known(device.temperature_celsius), known(device.power_watts)
    if temperature is None and power is None:
        return None
    return f"{'N/A' if temperature is None else temperature}, {'N/A' if power is None else f'{power:.2f}'} W"


def _implausible(device: GpuDevice) -> bool:
    ranges = (
        (known(device.temperature_celsius), -40, 150),
        (known(device.power_watts), 0, 5000),
        (known(device.utilization_gpu_percent), 0, 100),
        (known(device.clock_sm_mhz), 0, 10000),
    )
    return any(value is not None and not low <= value <= high for value, low, high in ranges)


def _state(device: GpuDevice) -> str:
    celsius = known(device.temperature_celsius)
    parts = [] if celsius is None else [f"{celsius} C"]
    if known(device.utilization_gpu_percent) is not None:
        parts.append(f"{known(device.utilization_gpu_percent)} %")
    if known(device.clock_sm_mhz) is not None:
        parts.append(f"{known(device.clock_sm_mhz)} MHz")
    if known(device.performance_state) is not None:
        parts.append(f"P{known(device.performance_state)}")
    return ", ".join(parts) or "no load reading"


def _looks_stuck(device: GpuDevice, platform: Platform) -> bool:
    least, clock, watts = (
        platform.profile.threshold(name)
        for name in ("stuck_utilization_percent", "stuck_clock_mhz", "stuck_power_watts")
    )
    utilization, sm, power = (
        known(device.utilization_gpu_percent),
        known(device.clock_sm_mhz),
        known(device.power_watts),
    )
    if least is None or clock is None or watts is None or utilization is None or sm is None or power is None:
        return False
    reasons = known(device.event_reasons_active)
    held = reasons is None or any(reason in (*SLOWDOWN, "applications_clocks_setting") for reason in reasons)
    return utilization >= least and sm < clock and power < watts and not held


def _hot_and_slow(device: GpuDevice, platform: Platform) -> bool:
    hot, clock = platform.profile.threshold("hot_celsius"), platform.profile.threshold("stuck_clock_mhz")
    temperature, sm = known(device.temperature_celsius), known(device.clock_sm_mhz)
    utilization = known(device.utilization_gpu_percent)
    if hot is None or clock is None or temperature is None or sm is None or utilization is None:
        return False
    return utilization >= LOAD_PERCENT and temperature >= hot and sm < clock


def _evidence(device: GpuDevice) -> tuple[str, ...]:
    lines = [f"power {known(device.power_watts)} W, temperature {known(device.temperature_celsius)} C"]
    lines.append(f"SM clock {known(device.clock_sm_mhz)} MHz of {known(device.clock_sm_max_mhz)} MHz")
    reasons = known(device.event_reasons_active)
    if reasons is not None:
        lines.append(f"active event reasons: {', '.join(reasons) or 'none'}")
    margin = known(device.temperature_margin_celsius)
    if margin is not None:
        lines.append(f"{margin} degrees below the slowdown limit (T.Limit)")
    return tuple(lines)


# -- boots that ended without a shutdown ------------------------------------------------------------------------------


def check_boots(
    boots: Boots | Missing, gpu: Gpu | Missing, container: Container | Missing, platform: Platform, collected_at: str
) -> Iterator[Finding]:
    """Sparks alone: elsewhere a machine is switched off for many reasons. A container's records are its image's."""
    if isinstance(boots, Missing) or platform.assumed or not platform.is_spark or weigh(container).inside:
        return
    recent = known(boots.recent) or ()
    cuts = [(boot, after) for after, boot in pairwise(recent) if boot.ending == "cut"]
    if not cuts:
        return
    newest, now = recent[0].started_unix_seconds, _seconds(collected_at)
    if now is not None and SENSIBLE_CLOCK < now < newest - 86400:
        return  # boots of the future: a clock was wrong, so no date among them tells anything
    since = max(now or newest, newest) - CUT_DAYS * 86400
    kinds = [
        (_cause(boots, boot, after, boot is recent[1]), boot, after)
        for boot, after in cuts
        if after.started_unix_seconds >= since
    ]
    reading = next((text for text in map(_reading, devices_of(gpu)) if text), None)
    head = f"{reading} now; " if reading else ""  # as every message of G4 begins
    for kind in ("power", "crash", "memory"):
        found = [(boot, after) for cause, boot, after in kinds if cause == kind]
        if found:
            yield _unclean(kind, found, boots, head)


def _cause(boots: Boots, boot: Boot, after: Boot, last: bool) -> str:
    """by hand, memory, crash, or power where nothing else is known. The journal was asked about the last boot alone."""
    end = "\n".join(known(boots.journal_end) or ()) if last else ""
    if BY_HAND.search(end):
        return "by hand"
    times = [_SAVED_AT.search(name) for name in known(boots.saved_crash_files) or ()]
    earliest, latest = boot.started_unix_seconds - 60, after.started_unix_seconds + 600
    if any(earliest <= int(time.group(1)) <= latest if time else last for time in times) or CRASHED.search(end):
        return "crash"
    return "memory" if OUT_OF_MEMORY.search(end) else "power"


def _unclean(kind: str, cuts: list[tuple[Boot, Boot]], boots: Boots, head: str) -> Finding:
    boot, after = cuts[0]
    what = f"the boot of {_when(boot)} ended without a shutdown (next start {_when(after)})"
    evidence = [f"boot of {_when(boot)}: no shutdown before the start of {_when(after)}" for boot, after in cuts]
    evidence += _saved(boots)
    if kind == "memory":
        text = f"{head}{what}, and its journal ends with memory running out: G3, not the power"
        return Finding("G4.cut-out-of-memory", WARN, text, tuple(evidence), MEDIUM)
    if kind == "crash":
        text = f"{head}{what}, and the kernel crashed then: not the power"
        return Finding("G4.kernel-crash", FAIL if len(cuts) >= REPEATED_CUTS else WARN, text, tuple(evidence))
    values = {"hot": ""} if HOT.search("\n".join(known(boots.journal_end) or ())) else {}
    if len(cuts) >= REPEATED_CUTS:
        last = f"the last began {_when(boot)} (next start {_when(after)})"
        text = f"{head}{len(cuts)} boots ended without a shutdown within {CUT_DAYS} days, {last}"
        return Finding("G4.repeated-power-cuts", FAIL, text, tuple(evidence), MEDIUM, values=values)
    other = f", and {len(cuts) - 1} more before" if len(cuts) > 1 else ""
    text = f"{head}{what}{other}: a protective power-off, or the plug was pulled by hand"
    return Finding("G4.power-cut", WARN, text, tuple(evidence), MEDIUM, values=values)


def _saved(boots: Boots) -> list[str]:
    names, end = boots.saved_crash_files, boots.journal_end
    saved = f"not readable: {names}" if isinstance(names, Missing) else ", ".join(names[:3]) or "none"
    lines = [str(end)] if isinstance(end, Missing) else list(end[-3:]) or ["names no cause"]
    return [f"saved kernel crashes: {saved}", *(f"end of the previous boot's journal: {line}" for line in lines)]


def _when(boot: Boot) -> str:
    from datetime import datetime, timezone  # only where something was cut

    try:
        return datetime.fromtimestamp(boot.started_unix_seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):  # a clock that was never set
        return f"second {boot.started_unix_seconds}"


def _seconds(collected_at: str) -> int | None:
    from datetime import datetime, timezone

    try:
        moment = datetime.strptime(collected_at[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return int(moment.timestamp())
