"""Which of PyTorch's wheel indexes fits a driver and a GPU at once, so that no advice leads into the next failure."""

from __future__ import annotations

import re

from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu
from gonogo.node.facts.sections.python import Torch
from gonogo.platforms.identify import Platform
from gonogo.units import version_parts

#: CUDA releases that PyTorch serves wheels for, at download.pytorch.org/whl/cuNNN. Verified 2026-11.
RELEASES = ((11, 8), (12, 6), (12, 8), (12, 9), (13, 0))
#: The oldest compute capability that a CUDA major still compiles for (its release notes; 12.8 and later warned of it).
OLDEST_CAPABILITY = {13: (7, 5), 12: (5, 0), 11: (3, 5)}


def capability(gpu: Gpu | Missing, platform: Platform) -> tuple[int, ...] | None:
    """The compute capability: the newest that the driver reports, else the profile's."""
    devices = () if isinstance(gpu, Missing) else known(gpu.devices) or ()
    read = [version_parts(text) for device in devices for text in [known(device.compute_capability)] if text]
    return max(read) if read else version_parts(platform.profile.compute_capability or "") or None


def reinstall(version: str) -> str:
    """How to get the torch back that is installed now: local versions are only on the index of their own tag."""
    tag = version.partition("+")[2]
    if re.fullmatch(r"cu[0-9]{3}|cpu|rocm[0-9.]+", tag):
        return f"pip install --force-reinstall torch=={version} --index-url https://download.pytorch.org/whl/{tag}"
    if tag:
        return "start again from the image: this build of torch is on no public index"
    return f"pip install --force-reinstall torch=={version}"


def advice(torch: Torch | None, gpu: Gpu | Missing, platform: Platform) -> dict[str, str]:
    """Values for fix steps: ``wheel_tag`` (cu130), or ``no_wheel``, why none fits; ``torch_reinstall``, the way back.

    Within a CUDA major any minor serves (CUDA's minor version compatibility).
    """
    version = known(torch.version) if torch else None
    values = {"torch_reinstall": reinstall(version)} if version else {}
    serves = None if isinstance(gpu, Missing) else known(gpu.cuda_version)
    target, first = capability(gpu, platform), version_parts(platform.profile.kernel_cuda or "")
    fitting = [
        release
        for release in RELEASES
        if (serves is None or release[0] <= version_parts(serves)[0])
        and (not first or release >= first[:2])
        and (target is None or target >= OLDEST_CAPABILITY[release[0]])
    ]
    if fitting:
        return values | {"wheel_tag": f"cu{fitting[-1][0]}{fitting[-1][1]}"}
    shown = ".".join(str(part) for part in target) if target else "of this GPU"
    return values | {"no_wheel": f"no build serves both a driver for CUDA {serves} and capability {shown}"}
