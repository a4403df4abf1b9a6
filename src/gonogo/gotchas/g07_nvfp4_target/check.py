"""G7, as far as it goes without reading binaries: the capability."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.finding import INFO, SKIP, UNKNOWN, Finding
from gonogo.node.facts.missing import NOT_FOUND, Missing, known
from gonogo.node.facts.sections.gpu import Gpu, devices_of
from gonogo.platforms.identify import Platform


def check_capability(gpu: Gpu | Missing, platform: Platform) -> Iterator[Finding]:
    """A capability alone is no verdict on kernels, so this is INFO and never PASS."""
    devices = devices_of(gpu)
    read = sorted({capability for d in devices for capability in [known(d.compute_capability)] if capability})
    if read:
        source = "NVML" if not isinstance(gpu, Missing) and gpu.source == "nvml" else "nvidia-smi"
        text, evidence = ", ".join(read), f"compute capability {', '.join(read)} from {source}"
    elif platform.profile.compute_capability:
        text, evidence = platform.profile.compute_capability, f"compute capability of the profile {platform.id}"
    elif platform.gpu_expected:
        yield Finding("G7.unknown", UNKNOWN, "the compute capability could not be read")
        return
    else:
        absent = not isinstance(gpu, Missing) or gpu.reason == NOT_FOUND
        yield Finding("G7.skipped", SKIP, "no NVIDIA GPU" if absent else f"GPU {gpu}")
        return
    yield Finding("G7.targets-not-read", INFO, f"capability {text}, kernel targets not read yet", (evidence,))
