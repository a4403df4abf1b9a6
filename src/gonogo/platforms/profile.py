"""A device profile as typed data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

UNIFIED, DISCRETE = "unified", "discrete"


class Profile(NamedTuple):
    """What is expected of one device. None: no public figure, or it does not apply.

    ``memory`` is unified (one pool for CPU and GPU) or discrete. ``cuda_major`` is the one CUDA major that builds must
    have; None where any that the driver serves will do. ``kernel_cuda`` is the first CUDA release whose compiler makes
    kernels that run here. ``forward_compatibility``: a libcuda newer than the kernel driver may be used (NVIDIA's CUDA
    Compatibility guide). ``bandwidth_peak_gb_per_s`` is the specification's, ``bandwidth_bands`` what good tests of
    each kind (copy, read) measured, low and high. ``thresholds`` holds the figures that judges compare with, by name
    with unit.
    """

    id: str
    title: str
    compute_capability: str | None = None
    memory: str = DISCRETE
    is_spark: bool = False
    machine: str | None = None
    cuda_major: int | None = None
    kernel_cuda: str | None = None
    forward_compatibility: bool | None = None
    pci_ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    bandwidth_peak_gb_per_s: float | None = None
    bandwidth_bands: Mapping[str, tuple[float, float]] = MappingProxyType({})
    thresholds: Mapping[str, float] = MappingProxyType({})

    def threshold(self, name: str) -> float | None:
        """The figure ``name``, or None where this device has none."""
        return self.thresholds.get(name)


def profile_from(data: Mapping[str, Any]) -> Profile:
    """The profile that a platform's TOML holds."""
    match, expect = data.get("match", {}), data.get("expect", {})
    return Profile(
        id=data["id"],
        title=data["title"],
        compute_capability=data.get("compute_capability"),
        memory=data.get("memory", DISCRETE),
        is_spark=data.get("is_spark", False),
        machine=expect.get("machine"),
        cuda_major=expect.get("cuda_major"),
        kernel_cuda=expect.get("kernel_cuda"),
        forward_compatibility=expect.get("forward_compatibility"),
        pci_ids=tuple(match.get("pci_ids", ())),
        names=tuple(match.get("names", ())),
        bandwidth_peak_gb_per_s=data.get("spec", {}).get("memory_bandwidth_gb_per_s"),
        bandwidth_bands={kind: (row["low"], row["high"]) for kind, row in data.get("bandwidth_gb_per_s", {}).items()},
        thresholds={name: row["value"] for name, row in data.get("threshold", {}).items()},
    )
