"""Go or no-go: what findings and facts add up to, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gonogo.finding import FAIL, WARN, Finding, worst_first
from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, NOT_FOUND, UNCOLLECTED, Missing
from gonogo.node.facts.sections.gpu import GpuDevice, devices_of
from gonogo.platforms.identify import Platform

GO, GO_WITH_WARNINGS, NO_GO = "go", "go-with-warnings", "no-go"


def weigh(findings: Sequence[Finding], sections: Mapping[str, Any], platform: Platform) -> tuple[str, list[str]]:
    """The verdict and its reasons, gravest first. UNKNOWN, INFO and SKIP leave it at go."""
    ordered = worst_first(findings)
    stops = [reason_of(item) for item in ordered if item.status == FAIL]
    gpu = _gpu_problem(sections.get("gpu", UNCOLLECTED), platform)
    if gpu:
        stops.insert(0, gpu)
    warnings = [reason_of(item) for item in ordered if item.status == WARN]
    if not gpu and not platform.assumed:
        warnings = _lost_gpus(sections.get("gpu", UNCOLLECTED)) + warnings
    environment = _environment_problem(sections.get("python", UNCOLLECTED))
    if environment:
        warnings.append(environment)
    outcome = NO_GO if stops else GO_WITH_WARNINGS if warnings else GO
    return outcome, stops + warnings


def reason_of(item: Finding) -> str:
    """A finding as a reason of the verdict."""
    return f"{item.gotcha}: {item.message}"


def _gpu_problem(gpu: Any, platform: Platform) -> str | None:
    """A GPU that is not there or does not answer; nothing where the facts do not speak of GPUs at all."""
    if platform.assumed or (isinstance(gpu, Missing) and gpu.reason == NOT_COLLECTED):
        return None
    if isinstance(gpu, Missing):
        if gpu.reason == NOT_FOUND and not platform.gpu_expected:
            return "no NVIDIA GPU"
        return f"the NVIDIA GPU does not answer: {gpu}"
    if isinstance(gpu.devices, Missing):
        return f"the NVIDIA GPU does not answer: {gpu.devices.detail or gpu.devices}"
    if not gpu.devices:
        return "the NVIDIA driver shows no GPU"
    lost = [device for device in gpu.devices if _silent(device)]
    if len(lost) == len(gpu.devices):
        return f"the NVIDIA GPU does not answer: {lost[0].temperature_celsius}"
    return None


def _lost_gpus(gpu: Any) -> list[str]:
    """Some GPUs of several that do not answer: the others can still be used, so a warning."""
    devices = devices_of(gpu)
    lost = [device for device in devices if _silent(device)]
    return [
        f"GPU {device.device_index} does not answer: {device.temperature_celsius}"
        for device in lost[: len(devices) - 1]
    ]


def _silent(device: GpuDevice) -> bool:
    """Nothing that every GPU tells is told, and not because nobody asked."""
    facts = (device.name, device.compute_capability, device.temperature_celsius, device.utilization_gpu_percent)
    return all(isinstance(fact, Missing) and fact.reason == FAILED for fact in facts)


def _environment_problem(python: Any) -> str | None:
    if isinstance(python, Missing):
        return f"no training environment judged: {python.detail or python}"
    if isinstance(python.start, Missing) and python.start.reason != NOT_COLLECTED:
        return f"the judged interpreter did not answer: {python.start.detail or python.start}"
    if isinstance(python.torch, Missing):
        absent = python.torch.reason == NOT_FOUND
        why = f"no torch in {python.executable}" if absent else f"torch could not be read: {python.torch}"
        return f"no training environment judged: {why}"
    return None
