"""GPUs as NVML (or, without its library, nvidia-smi) reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Tuple, Union

from gonogo.node.facts.missing import UNCOLLECTED, Missing


@dataclass(frozen=True)
class GpuProcess:
    """One process on a GPU. ``kind`` is compute or graphics; memory is what NVML accounts to the pid."""

    pid: int
    kind: str
    memory_bytes: Union[int, Missing] = UNCOLLECTED


@dataclass(frozen=True)
class GpuDevice:
    """One GPU. GB10 answers not_supported for memory, power limit, memory clock and fan: that is its normal state."""

    index: int
    name: Union[str, Missing] = UNCOLLECTED
    pci_bus_id: Union[str, Missing] = UNCOLLECTED
    pci_device_id: Union[str, Missing] = UNCOLLECTED  # vendor:device, lower-case hex: 10de:2e12
    compute_capability: Union[str, Missing] = UNCOLLECTED  # major.minor
    memory_total_bytes: Union[int, Missing] = UNCOLLECTED
    memory_free_bytes: Union[int, Missing] = UNCOLLECTED
    memory_used_bytes: Union[int, Missing] = UNCOLLECTED
    power_watts: Union[float, Missing] = UNCOLLECTED  # the GPU alone, not the board or the wall
    power_limit_watts: Union[float, Missing] = UNCOLLECTED
    temperature_celsius: Union[int, Missing] = UNCOLLECTED
    temperature_margin_celsius: Union[int, Missing] = UNCOLLECTED  # T.Limit: degrees left, not a temperature
    clock_sm_mhz: Union[int, Missing] = UNCOLLECTED
    clock_sm_max_mhz: Union[int, Missing] = UNCOLLECTED
    clock_memory_mhz: Union[int, Missing] = UNCOLLECTED
    utilization_gpu_percent: Union[int, Missing] = UNCOLLECTED
    performance_state: Union[int, Missing] = UNCOLLECTED  # 0 is P0
    event_reasons_active: Union[Tuple[str, ...], Missing] = UNCOLLECTED  # clocks event reasons active now
    event_reason_nanoseconds: Union[Mapping[str, int], Missing] = UNCOLLECTED  # history since driver load
    display_active: Union[bool, Missing] = UNCOLLECTED
    mig_enabled: Union[bool, Missing] = UNCOLLECTED
    processes: Union[Tuple[GpuProcess, ...], Missing] = UNCOLLECTED


@dataclass(frozen=True)
class Gpu:
    """The driver's answer. ``cuda_version`` is the newest CUDA that the user-mode driver serves, as 13.0."""

    source: str = "nvml"  # or nvidia-smi
    driver_version: Union[str, Missing] = UNCOLLECTED
    cuda_version: Union[str, Missing] = UNCOLLECTED
    devices: Union[Tuple[GpuDevice, ...], Missing] = UNCOLLECTED
