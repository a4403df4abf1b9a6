"""G11: the two halves of the driver and what an image was built for; whether the container engine can pass a GPU in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gonogo import known as dated
from gonogo.finding import FAIL, HIGH, INFO, MEDIUM, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, TIMED_OUT, Missing, known
from gonogo.node.facts.sections.container import Container
from gonogo.node.facts.sections.driver import Driver
from gonogo.node.facts.sections.engine import Engine
from gonogo.node.facts.sections.gpu import Gpu, devices_of
from gonogo.platforms.containment import weigh
from gonogo.platforms.identify import Platform
from gonogo.ranges import numbers
from gonogo.units import version_parts

#: The oldest driver branch of each CUDA major: CUDA Compatibility guide, minor version compatibility.
CUDA_OF_BRANCH = ((580, 13), (525, 12), (450, 11))
#: Built for the 580 driver of DGX OS and CUDA 13.0. Verified 2026-11.
SPARK_IMAGE = "nvcr.io/nvidia/pytorch:25.11-py3"
#: A row for machines without a CDI specification, which no version tells.
CDI_ROW = "cdi-not-generated"


class _Pair(NamedTuple):
    """The two halves, and where the user-mode one lies. ``image`` is what the container's variables say."""

    libcuda: str
    kernel: str
    path: str
    compatible: str  # the newest libcuda of a compatibility package, in use or not; empty for none
    compatible_path: str
    image: Mapping[str, str]
    inside: bool

    @property
    def newer(self) -> bool:
        """The user-mode half is newer."""
        return numbers(self.libcuda) > numbers(self.kernel)

    @property
    def from_package(self) -> bool:
        """libcuda is a compatibility package's, or one that a container mounts from it under its usual name."""
        another_branch = self.inside and self.newer and numbers(self.libcuda)[:1] != numbers(self.kernel)[:1]
        return "/compat/" in self.path or another_branch


def check_pairing(
    driver: Driver,
    container: Container | Missing,
    gpu: Gpu | Missing,
    platform: Platform,
    versions: Mapping[str, str],
) -> Iterator[Finding]:
    """One finding: the two halves are one release, or differ on purpose, or must not differ."""
    if platform.assumed:
        yield Finding("G11.skipped", SKIP, "the driver is of another machine than --platform names")
        return
    libcuda, kernel = known(driver.libcuda_version), versions.get("driver")
    if libcuda is None or kernel is None:
        yield _half(driver, gpu, kernel, platform)
        return
    image = {} if isinstance(container, Missing) else known(container.environment) or {}
    pair = _Pair(
        *(libcuda, kernel, known(driver.libcuda_path) or ""),
        *(known(driver.compatibility_library_version) or "", known(driver.compatibility_library_path) or ""),
        *(image, weigh(container).inside is True),
    )
    if numbers(libcuda) == numbers(kernel):
        yield _matching(pair, gpu, platform)
    else:
        yield _differing(pair, gpu, platform)


def _half(driver: Driver, gpu: Gpu | Missing, kernel: str | None, platform: Platform) -> Finding:
    """One of the two versions is not there to compare."""
    path = driver.libcuda_path
    if isinstance(path, Missing) and path.reason == NOT_COLLECTED:
        return Finding("G11.skipped", SKIP, "the driver's user-mode half was not collected")
    if isinstance(path, Missing) and not kernel:
        status, code = (UNKNOWN, "G11.unknown") if platform.is_spark else (SKIP, "G11.skipped")
        return Finding(code, status, "no NVIDIA driver: neither a kernel module nor a libcuda.so.1")
    if isinstance(path, Missing):
        text = f"kernel driver {kernel}, but no libcuda.so.1 where the loader looks"
        if platform.gpu_expected:
            return Finding("G11.unknown", UNKNOWN, f"{text}; into a container docker passes it with --gpus all")
        return Finding("G11.skipped", SKIP, text)
    if not kernel and not devices_of(gpu) and platform.gpu_expected:
        return Finding("G11.unknown", UNKNOWN, f"{path} is installed, and the kernel's driver is not loaded")
    what = "kernel driver's version" if not kernel else "libcuda's version, which its file name does not carry"
    return Finding("G11.skipped", SKIP, f"nothing to compare without the {what}")


def _silent(gpu: Gpu | Missing) -> str | None:
    """What stands in place of GPUs where the driver does not answer; None where it does, or nobody asked."""
    devices = gpu if isinstance(gpu, Missing) else gpu.devices
    if isinstance(devices, Missing):
        return (devices.detail or str(devices)) if devices.reason in (FAILED, TIMED_OUT) else None
    return None if devices else "No devices were found"


def _evidence(pair: _Pair) -> tuple[str, ...]:
    lines = [f"libcuda {pair.libcuda}: {pair.path}", f"kernel driver {pair.kernel}"]
    lines += [f"{name}={pair.image[name]}" for name in ("CUDA_DRIVER_VERSION", "CUDA_VERSION") if pair.image.get(name)]
    status = " ".join(pair.image.get("_CUDA_COMPAT_STATUS", "").split())
    return (*lines, *([f"the image's entrypoint says: {status[:160]}"] if status else []))


# -- the two halves differ --------------------------------------------------------------------------------------------


def _differing(pair: _Pair, gpu: Gpu | Missing, platform: Platform) -> Finding:
    said, evidence = _silent(gpu), _evidence(pair)
    both = f"libcuda {pair.libcuda} over kernel driver {pair.kernel}"
    if pair.from_package and said:
        text = f"{both}, and the GPU does not answer ({said}): no pairing is its cause"
        return Finding("G11.unknown", UNKNOWN, text, evidence)
    if pair.from_package and pair.newer and platform.profile.forward_compatibility is False:
        text = f"{both}: {platform.profile.title} has no forward compatibility, CUDA fails with 804"
        return Finding("G11.not-supported-here", FAIL, text, evidence, MEDIUM)
    if pair.from_package and pair.newer:
        text = f"forward compatibility: {both}; prove it with a real computation in this container"
        return Finding("G11.forward-compatibility", INFO, text, evidence)
    if said:
        text = f"the driver was updated and the old one still runs: libcuda {pair.libcuda}, kernel driver {pair.kernel}"
        where = " of the host" if pair.inside else ""
        text += f"; the GPU does not answer until a reboot{where}"
        return Finding("G11.reboot-needed", FAIL, text, (*evidence, said), values={"where": where})
    if not pair.newer and (pair.inside or pair.from_package) and not isinstance(gpu, Missing):
        text = f"{both}: older than the kernel's half, CUDA fails with 803"
        return Finding("G11.wrong-libcuda", FAIL, text, evidence, MEDIUM)
    return Finding("G11.skipped", SKIP, f"{both}, and the GPU answers: a layout that is not judged", evidence)


# -- the two halves are one release: is it the one that the image needs? ----------------------------------------------


def _matching(pair: _Pair, gpu: Gpu | Missing, platform: Platform) -> Finding:
    wanted, evidence = pair.image.get("CUDA_DRIVER_VERSION", ""), _evidence(pair)
    if not pair.inside or not numbers(wanted)[:1] > numbers(pair.kernel)[:1]:
        text = f"libcuda and kernel driver are both {pair.kernel}"
        return Finding("G11.ok", PASS, f"{text}{f'; the image was built for {wanted}' if wanted else ''}", evidence)
    built = f"the image was built for driver {wanted}, the kernel driver is {pair.kernel}"
    said, profile = _silent(gpu), platform.profile
    if said:
        text = f"{built}, and the GPU does not answer ({said}): the image is not its cause"
        return Finding("G11.unknown", UNKNOWN, text, evidence)
    serves = _served_cuda(pair, gpu)
    same = _image_cuda(pair) == serves
    if same and not platform.is_spark:
        # CUDA's minor version compatibility: kernels compiled ahead run. Libraries carry none for GB10 and lean on PTX.
        text = f"{built}: CUDA's minor version compatibility; PTX of the image's newer compiler does not run (222)"
        return Finding("G11.minor-version", INFO, text, evidence)
    confidence = MEDIUM if same else HIGH
    shown = (None if isinstance(gpu, Missing) else known(gpu.cuda_version)) or str(serves)
    values = {"cuda": shown, **({"spark_image": SPARK_IMAGE} if platform.is_spark else {"wanted": wanted})}
    if profile.forward_compatibility is not False and numbers(pair.compatible) > numbers(pair.kernel):
        lies = f"its compatibility library {pair.compatible} is not in use"
        text = f"{built}, and {lies}: entrypoint bypassed, or LD_LIBRARY_PATH changed"
        values["compatibility_folder"] = pair.compatible_path.rpartition("/")[0]
        evidence = (*evidence, f"not in use: {pair.compatible_path}")
        return Finding("G11.compatibility-not-set-up", FAIL, text, evidence, confidence, values=values)
    why = "no newer libcuda lies in the image"
    if profile.forward_compatibility is False:
        why = f"{profile.title} has no forward compatibility"
    text = f"{built}, and compatibility mode is unavailable: {why}"
    return Finding("G11.compatibility-unavailable", FAIL, text, evidence, confidence, values=values)


def _image_cuda(pair: _Pair) -> int | None:
    named = version_parts(pair.image.get("CUDA_VERSION", ""))
    return named[0] if named else _cuda_of(pair.image["CUDA_DRIVER_VERSION"])


def _served_cuda(pair: _Pair, gpu: Gpu | Missing) -> int | None:
    named = version_parts((None if isinstance(gpu, Missing) else known(gpu.cuda_version)) or "")
    return named[0] if named else _cuda_of(pair.kernel)


def _cuda_of(driver: str) -> int | None:
    branch = numbers(driver)[:1]
    return next((cuda for first, cuda in CUDA_OF_BRANCH if branch >= (first,)), None)


# -- dated data -------------------------------------------------------------------------------------------------------


def check_versions(
    versions: Mapping[str, str],
    known_rows: tuple[dated.Known, ...],
    platform: Platform,
    engine: Engine | Missing,
    container: Container | Missing,
) -> Iterator[Finding]:
    """Host drivers, wherever they are seen from; the toolkit's release where no CDI specification was generated."""
    if platform.assumed:
        return
    files = None if isinstance(engine, Missing) else known(engine.cdi_files)
    without_cdi = files == () and weigh(container).inside is not True
    rows = [row for row in known_rows if row.code != CDI_ROW or without_cdi]
    yield from dated.findings("G11", rows, versions, platform)


# -- the container engine ---------------------------------------------------------------------------------------------


def check_engine(
    engine: Engine | Missing, container: Container | Missing, platform: Platform, versions: Mapping[str, str]
) -> Iterator[Finding]:
    """On the host alone, and where there is an NVIDIA driver to pass in."""
    if isinstance(engine, Missing) or platform.assumed or not platform.gpu_expected:
        return
    if weigh(container).inside is True or not ("driver" in versions or "libcuda" in versions):
        return
    # A Spark comes with the toolkit; elsewhere only its presence tells that containers are meant to get the GPU.
    meant = platform.is_spark or known(engine.toolkit) is not None
    docker = known(engine.docker)
    if docker is not None and not docker.startswith("/mnt/wsl/"):  # Docker Desktop's engine is on another machine
        yield from _docker(engine, docker, meant, platform)
    elif docker is None and known(engine.podman) is not None:
        yield from _podman(engine, meant)


def _docker(engine: Engine, docker: str, meant: bool, platform: Platform) -> Iterator[Finding]:
    runtimes, files = known(engine.runtimes), known(engine.cdi_files)
    registered = any("nvidia" in name for name in (*(runtimes or ()), known(engine.default_runtime) or ""))
    status = WARN if meant else INFO
    if known(engine.may_use_docker) is False:
        text = "this user may not use docker: its socket belongs to root and the group docker"
        yield Finding("G11.docker-not-allowed", INFO, text, (f"docker: {docker}",))
    if known(engine.docker_is_snap) and (platform.is_spark or not registered):
        text = "docker is the snap, whose confinement keeps the GPU's libraries out of containers"
        yield Finding("G11.snap-docker", status, text, (f"docker: {docker}",))
    elif registered or files or known(engine.docker_socket) is not True:
        return
    elif runtimes is None or files is None:
        unread = engine.runtimes if runtimes is None else engine.cdi_files
        text = f"whether docker can pass the GPU in could not be read: {unread}"
        yield Finding("G11.unknown", UNKNOWN, text)
    elif known(engine.hook):
        text = "docker run --gpus all works through the toolkit's hook; --runtime=nvidia and CDI devices do not"
        yield Finding("G11.hook-only", INFO, text, _looked_at(engine, docker))
    else:
        text = "docker cannot pass the GPU in: no nvidia runtime is registered, and there is no CDI specification"
        yield Finding("G11.runtime-not-registered", status, text, _looked_at(engine, docker), values=_toolkit(engine))


def _podman(engine: Engine, meant: bool) -> Iterator[Finding]:
    if known(engine.cdi_files) == () and known(engine.podman_hook) is False:
        text = "podman cannot pass the GPU in: there is no CDI specification of nvidia.com/gpu"
        evidence = _looked_at(engine, f"none; podman: {known(engine.podman)}")
        yield Finding("G11.cdi-missing", WARN if meant else INFO, text, evidence, values=_toolkit(engine))


def _looked_at(engine: Engine, docker: str) -> tuple[str, ...]:
    return (
        f"docker: {docker}",
        f"runtimes registered: {', '.join(known(engine.runtimes) or ()) or 'none'}",
        f"CDI specifications of nvidia.com/gpu: {', '.join(known(engine.cdi_files) or ()) or 'none'}",
        f"toolkit: {known(engine.toolkit) or 'none'}",
    )


def _toolkit(engine: Engine) -> dict[str, str]:
    """Values for the steps: the one that installs the toolkit is for those who have none."""
    return {} if known(engine.toolkit) else {"toolkit": "nvidia-container-toolkit"}
