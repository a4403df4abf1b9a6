"""G12 by tags: what torch says it was built for, against the machine's CPU and GPU. Binaries are not read."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.finding import FAIL, INFO, MEDIUM, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, Missing, known
from gonogo.node.facts.sections.gpu import Gpu, devices_of
from gonogo.node.facts.sections.identity import Identity, canonical_machine
from gonogo.node.facts.sections.launch import Launch
from gonogo.node.facts.sections.python import Python, Torch
from gonogo.platforms import wheels
from gonogo.platforms.identify import Platform
from gonogo.platforms.visible import visible_devices
from gonogo.units import version_parts


def check_build(
    python: Python, gpu: Gpu | Missing, identity: Identity | Missing, platform: Platform
) -> Iterator[Finding]:
    """One finding: the first that applies, since each of them decides alone."""
    torch = known(python.torch)
    if isinstance(python.torch, Missing) and python.torch.reason not in (NOT_FOUND, NOT_COLLECTED):
        yield Finding("G12.unknown", UNKNOWN, f"torch could not be read: {python.torch}")
        return
    if torch is None:
        yield Finding("G12.skipped", SKIP, "no torch to judge")
        return
    if isinstance(torch.cuda, Missing) and torch.cuda.reason != NOT_FOUND:
        text = f"what torch was built for could not be read: {torch.cuda}"
        yield Finding("G12.unreadable", UNKNOWN, text, values={"python": python.executable})
        return
    version = known(torch.version) or "of unknown version"
    fault = (
        _kind(torch, version, platform)
        or _architecture(torch, version, python, identity)
        or _gpu_fit(torch, version, gpu, platform)
    )
    if fault is None:
        yield Finding("G12.ok", PASS, f"torch {version} is built for this machine", _evidence(torch))
    else:
        yield fault._replace(values=wheels.advice(python, gpu, platform))


def check_hidden(gpu: Gpu, launch: Launch) -> Iterator[Finding]:
    """A launch environment that leaves no GPU: every program started from it computes on the CPU and says nothing."""
    seen = visible_devices(gpu, launch)
    if devices_of(gpu) and seen.number == 0:
        value = (known(launch.variables) or {}).get("CUDA_VISIBLE_DEVICES")
        text = f"CUDA_VISIBLE_DEVICES={value!r} hides every GPU: what is started from here computes on the CPU"
        yield Finding("G12.gpus-hidden", WARN, text, (f"{len(devices_of(gpu))} GPU in NVML's list",))


def _evidence(torch: Torch) -> tuple[str, ...]:
    return (
        f"{torch.folder}/version.py: cuda = {known(torch.cuda)}",
        f"extension modules for {known(torch.machine) or 'unnamed'}",
    )


def _kind(torch: Torch, version: str, platform: Platform) -> Finding | None:
    if known(torch.cuda):
        return None
    gpu_meant = platform.gpu_expected or platform.assumed
    if known(torch.hip):
        status = FAIL if gpu_meant else INFO
        return Finding("G12.rocm", status, f"torch {version} is built for ROCm", _evidence(torch))
    if not gpu_meant:
        return Finding("G12.no-gpu", INFO, f"torch {version} is CPU-only, and so is this machine", _evidence(torch))
    return Finding("G12.cpu-only", FAIL, f"torch {version} is CPU-only: the GPU stays unused", _evidence(torch))


def _architecture(torch: Torch, version: str, python: Python, identity: Identity | Missing) -> Finding | None:
    built, runs = known(torch.machine), known(python.machine)
    if runs is None and not isinstance(identity, Missing):
        runs = known(identity.machine)
    if built is None or runs is None or canonical_machine(built) == canonical_machine(runs):
        return None
    return Finding(
        "G12.wrong-architecture",
        FAIL,
        f"torch {version} is built for {built}, this Python runs on {runs}",
        _evidence(torch),
    )


def _gpu_fit(torch: Torch, version: str, gpu: Gpu | Missing, platform: Platform) -> Finding | None:
    build = version_parts(known(torch.cuda) or "")
    capability = wheels.capability(gpu, platform)
    if not build or capability is None:
        return None
    shown = ".".join(str(part) for part in capability)
    first = version_parts(platform.profile.kernel_cuda or "")
    if first and build[:2] < first[:2]:
        # An official wheel carries kernels alone; a build of one's own may carry PTX that the driver compiles.
        official = "+cu" in version
        return Finding(
            "G12.torch-too-old",
            FAIL if official else WARN,
            f"torch {version} is of CUDA {known(torch.cuda)}: capability {shown} needs {platform.profile.kernel_cuda}",
            _evidence(torch),
            MEDIUM,
        )
    oldest = wheels.OLDEST_CAPABILITY.get(build[0])
    if oldest and capability < oldest:
        return Finding(
            "G12.gpu-too-old",
            FAIL,
            f"CUDA {known(torch.cuda)} has no kernels for capability {shown}: it starts at {oldest[0]}.{oldest[1]}",
            _evidence(torch),
        )
    return None
