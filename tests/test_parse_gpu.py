"""What nvidia-smi prints and what NVML's bits mean, against public captures and NVML's own constants."""

from __future__ import annotations

import pynvml

from gonogo.node import nvidia_smi
from gonogo.node.facts.missing import FAILED, NOT_SUPPORTED, Missing
from gonogo.node.parse.event_reasons import EVENT_REASONS, active_reasons


def test_event_reasons_are_the_bits_of_nvml() -> None:
    assert active_reasons(0x0) == ()
    assert active_reasons(0x4) == ("sw_power_cap",)
    assert active_reasons(0x60) == ("sw_thermal_slowdown", "hw_thermal_slowdown")
    assert active_reasons(0x804) == ("sw_power_cap", "bit 11")
    assert active_reasons(1 << 63) == ("bit 63",)
    # The binding's constants are nvml.h's; only the spelling differs.
    for bit, name in EVENT_REASONS.items():
        words = name.replace("applications_clocks", "Applications_Clocks").replace("display_clocks", "Display_Clock")
        spelt = "".join(word[:1].upper() + word[1:] for word in words.split("_"))
        assert getattr(pynvml, f"nvmlClocksEventReason{spelt}") == bit


ROW = (
    "0, NVIDIA GB10, 0000000F:01:00.0, 0x2E1210DE, 12.1, 580.126.09, [N/A], [N/A], [N/A], 3.10, [N/A], 36, 208, 3003, "
    "[N/A], 0, P8, 0x0000000000000001\n"
)


def test_nvidia_smi_on_a_gb10() -> None:
    # Cells as in the captures of snowflakedb/ArcticTraining#345 and NVCheckup.
    [(driver, device)] = nvidia_smi.parse(ROW)
    assert driver == "580.126.09"
    assert (device.name, device.pci_bus_id, device.pci_device_id) == ("NVIDIA GB10", "0000000F:01:00.0", "10de:2e12")
    assert (device.compute_capability, device.power_watts, device.temperature_celsius) == ("12.1", 3.1, 36)
    assert (device.performance_state, device.event_reasons_active) == (8, ("gpu_idle",))
    assert device.memory_total_bytes == device.power_limit_watts == device.clock_memory_mhz == Missing(NOT_SUPPORTED)


def test_nvidia_smi_cells_that_are_no_figures() -> None:
    row = ROW.replace("3.10", "nan").replace(" 36,", " [Unknown Error],").replace("12.1", "[Not Supported]")
    [(_, device)] = nvidia_smi.parse(row)
    assert device.compute_capability == Missing(NOT_SUPPORTED)
    assert device.temperature_celsius == Missing(FAILED, "Unknown Error")
    assert isinstance(device.power_watts, Missing) and device.power_watts.reason == FAILED
    # 24564 MiB is what an RTX 4090 reports; 24564 * 1048576 by hand.
    [(_, discrete)] = nvidia_smi.parse(ROW.replace("[N/A], [N/A], [N/A], 3.10", "24564, 24000, 564, 3.10"))
    assert discrete.memory_total_bytes == 25_757_220_864


def test_nvidia_smi_rows_of_another_width_are_passed_over() -> None:
    assert nvidia_smi.parse("Failed to initialize NVML: Driver/library version mismatch\n") == []
    assert nvidia_smi.parse(
        "No devices were found\n\n0, NVIDIA GB10\n" + ROW + ROW.replace("0,", "x,", 1)
    ) == nvidia_smi.parse(ROW)
