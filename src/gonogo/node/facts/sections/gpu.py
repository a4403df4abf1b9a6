"""GPUs as NVML (or, without its library, nvidia-smi) reports them."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class GpuProcess(NamedTuple):
    """One process on a GPU. ``kind`` is compute or graphics; memory is what NVML accounts to the pid."""

    pid: int
    kind: str
    memory_bytes: int | Missing = UNCOLLECTED


class GpuDevice(NamedTuple):
    """One GPU. GB10 answers not_supported for memory, power limit, memory clock and fan: that is its normal state."""

    device_index: int  # NVML's own
    name: str | Missing = UNCOLLECTED
    pci_bus_id: str | Missing = UNCOLLECTED
    pci_device_id: str | Missing = UNCOLLECTED  # vendor:device, lower-case hex: 10de:2e12
    compute_capability: str | Missing = UNCOLLECTED  # major.minor
    memory_total_bytes: int | Missing = UNCOLLECTED
    memory_free_bytes: int | Missing = UNCOLLECTED
    memory_used_bytes: int | Missing = UNCOLLECTED
    power_watts: float | Missing = UNCOLLECTED  # the GPU alone, not the board or the wall
    power_limit_watts: float | Missing = UNCOLLECTED
    temperature_celsius: int | Missing = UNCOLLECTED
    temperature_margin_celsius: int | Missing = UNCOLLECTED  # T.Limit: degrees left, not a temperature
    clock_sm_mhz: int | Missing = UNCOLLECTED
    clock_sm_max_mhz: int | Missing = UNCOLLECTED
    clock_memory_mhz: int | Missing = UNCOLLECTED
    utilization_gpu_percent: int | Missing = UNCOLLECTED
    performance_state: int | Missing = UNCOLLECTED  # 0 is P0
    event_reasons_active: tuple[str, ...] | Missing = UNCOLLECTED  # clocks event reasons active now
    event_reason_nanoseconds: Mapping[str, int] | Missing = UNCOLLECTED  # history since driver load
    display_active: bool | Missing = UNCOLLECTED
    mig_enabled: bool | Missing = UNCOLLECTED
    processes: tuple[GpuProcess, ...] | Missing = UNCOLLECTED


class Gpu(NamedTuple):
    """The driver's answer. ``cuda_version`` is the newest CUDA that the user-mode driver serves, as 13.0."""

    source: str = "nvml"  # or nvidia-smi
    driver_version: str | Missing = UNCOLLECTED
    cuda_version: str | Missing = UNCOLLECTED
    devices: tuple[GpuDevice, ...] | Missing = UNCOLLECTED


def devices_of(gpu: Gpu | Missing) -> tuple[GpuDevice, ...]:
    """The GPUs that were read; none where the section or its list of devices is missing."""
    return () if isinstance(gpu, Missing) or isinstance(gpu.devices, Missing) else gpu.devices
