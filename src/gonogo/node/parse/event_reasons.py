"""Clocks event reasons: NVML's bit mask to names."""

from __future__ import annotations

#: nvml.h nvmlClocksEventReason*: bit to name, in nvidia-smi's words.
EVENT_REASONS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clocks_setting",
}


def active_reasons(bits: int) -> tuple[str, ...]:
    """The names of the active clocks event reasons, lowest bit first; unknown bits by number."""
    return tuple(EVENT_REASONS.get(1 << position, f"bit {position}") for position in range(64) if bits & 1 << position)
