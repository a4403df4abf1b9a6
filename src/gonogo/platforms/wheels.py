"""Which of PyTorch's wheel indexes fits a driver and a GPU at once, so that no advice leads into the next failure."""

from __future__ import annotations

import re

from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu, devices_of
from gonogo.node.facts.sections.python import Python
from gonogo.platforms.identify import Platform
from gonogo.units import version_parts

INDEX = "https://download.pytorch.org/whl/"
#: CUDA releases that PyTorch serves wheels for, at INDEX/cuNNN. Verified 2026-11.
RELEASES = ((11, 8), (12, 6), (12, 8), (12, 9), (13, 0))
#: The first and the last torch that an index has wheels of; None: still made. Source: pytorch.org, previous versions.
SERVED = {
    (11, 8): ((2, 0), (2, 7)),
    (12, 6): ((2, 6), None),
    (12, 8): ((2, 7), None),
    (12, 9): ((2, 8), (2, 8)),
    (13, 0): ((2, 9), None),
}
#: The oldest compute capability that a CUDA major still compiles for (its release notes; 12.8 and later warned of it).
OLDEST_CAPABILITY = {13: (7, 5), 12: (5, 0), 11: (3, 5)}

#: What the values of ``advice`` look like, for texts without a machine at hand.
EXAMPLES = {
    "torch_install": f"PYTHON -m pip install torch==VERSION+cuNNN --index-url {INDEX}cuNNN",
    "torch_reinstall": "the same command with the version and index you had",
    "no_wheel": "where no build serves both the driver and the GPU",
}


def capability(gpu: Gpu | Missing, platform: Platform) -> tuple[int, ...] | None:
    """The compute capability: the newest that the driver reports, else the profile's."""
    devices = devices_of(gpu)
    read = [version_parts(text) for device in devices for text in [known(device.compute_capability)] if text]
    return max(read) if read else version_parts(platform.profile.compute_capability or "") or None


def advice(python: Python, gpu: Gpu | Missing, platform: Platform) -> dict[str, str]:
    """Values for fix steps.

    ``torch_install`` gets this release of torch for a CUDA that driver and GPU both serve, ``torch_reinstall`` is the
    way back; ``no_wheel`` says why no build fits. Neither of the first two for a torch that an image brought: it is on
    no public index, and pip must not touch it.
    """
    torch = known(python.torch)
    version = (known(torch.version) if torch else None) or ""
    release, _, tag = version.partition("+")
    fitting = _fitting(gpu, platform)
    if not fitting:
        serves = None if isinstance(gpu, Missing) else known(gpu.cuda_version)
        return {"no_wheel": f"no build of torch serves both a driver for CUDA {serves} and this GPU"}
    if (tag and not re.fullmatch(r"cu[0-9]{3}|cpu|rocm[0-9.]+", tag)) or not re.fullmatch(r"[0-9.]+", release or "0"):
        return {}
    serving = [cuda for cuda in fitting if release and _serves(cuda, version_parts(release))]
    newest = (serving or [cuda for cuda in fitting if SERVED[cuda][1] is None] or fitting)[-1]
    wheel = f"cu{newest[0]}{newest[1]}"
    pip = f"{python.executable} -m pip install"
    # Where no index that fits has wheels of this torch, a newer one is the only way.
    other = "--upgrade torch" if SERVED[newest][1] is None else "--force-reinstall torch"
    wanted = f"torch=={release}+{wheel}" if serving else other
    again = "--force-reinstall " if wanted == f"torch=={version}" else ""  # the version is right, its files are not
    values = {"torch_install": f"{pip} {again}{wanted} --index-url {INDEX}{wheel}"}
    if tag:
        values["torch_reinstall"] = f"{pip} torch=={version} --index-url {INDEX}{tag}"
    elif release:
        values["torch_reinstall"] = f"{pip} --force-reinstall torch=={version}"
    return values


def _serves(cuda: tuple[int, int], torch: tuple[int, ...]) -> bool:
    first, last = SERVED[cuda]
    return torch[:2] >= first and (last is None or torch[:2] <= last)


def _fitting(gpu: Gpu | Missing, platform: Platform) -> list[tuple[int, int]]:
    """The releases that serve here. Within a CUDA major any minor does (CUDA's minor version compatibility)."""
    serves = None if isinstance(gpu, Missing) else known(gpu.cuda_version)
    target, first = capability(gpu, platform), version_parts(platform.profile.kernel_cuda or "")
    return [
        release
        for release in RELEASES
        if (serves is None or release[0] <= version_parts(serves)[0])
        and (not first or release >= first[:2])
        and platform.profile.cuda_major in (None, release[0])
        and (target is None or target >= OLDEST_CAPABILITY[release[0]])
    ]
