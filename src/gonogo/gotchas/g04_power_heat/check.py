"""G4 from one sample: enough to see an active slowdown and to suspect a stuck power contract, never by watts alone."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.finding import HIGH, INFO, MEDIUM, PASS, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice
from gonogo.platforms.identify import Platform

#: Below this a sample says nothing about clocks and heat under load.
LOAD_PERCENT = 80
THERMAL = ("sw_thermal_slowdown", "hw_thermal_slowdown")
#: "hw_slowdown" is set by heat, by the power brake and by a current that rose too fast: alone it does not say which.
SLOWDOWN = (*THERMAL, "hw_slowdown", "hw_power_brake_slowdown")


def check_sample(gpu: Gpu, platform: Platform) -> Iterator[Finding]:
    """Each GPU by itself."""
    if isinstance(gpu.devices, Missing):
        yield Finding("G4.unknown", UNKNOWN, f"the GPU driver did not answer: {gpu.devices.detail or gpu.devices}")
        return
    if not gpu.devices:
        yield Finding("G4.unknown", UNKNOWN, "the NVIDIA driver shows no GPU")
    for device in gpu.devices:
        yield from _judge(device, platform, f"GPU {device.device_index}: " if len(gpu.devices) > 1 else "")


def _judge(device: GpuDevice, platform: Platform, prefix: str) -> Iterator[Finding]:
    reading = _reading(device)
    if reading is None:
        why = next(
            (f for f in (device.temperature_celsius, device.power_watts) if isinstance(f, Missing)), "no reading"
        )
        yield Finding("G4.unknown", UNKNOWN, f"{prefix}temperature and power: {why}")
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
    else:
        at_limit = "at its power limit, " if "sw_power_cap" in reasons else ""
        code, status, says = "G4.ok", PASS, f"under load, {at_limit}no slowdown by heat"
    confidence = MEDIUM if code in ("G4.looks-stuck", "G4.hot-and-slow") else HIGH
    # The reading comes first: scripts take "T, P W" from the start of this line.
    yield Finding(code, status, f"{text}, {prefix}{says}", evidence, confidence)


def _reading(device: GpuDevice) -> str | None:
    """ "36, 3.10 W", the form of nvidia-smi's CSV."""
    temperature, power = known(device.temperature_celsius), known(device.power_watts)
    if temperature is None and power is None:
        return None
    return f"{'N/A' if temperature is None else temperature}, {'N/A' if power is None else f'{power:.2f}'} W"


def _state(device: GpuDevice) -> str:
    parts = []
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
