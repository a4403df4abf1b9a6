"""G1 from files alone: torch's own version file, the runtime libraries that can be found, what the driver serves."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.finding import FAIL, INFO, MEDIUM, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import NOT_FOUND, Missing, known
from gonogo.node.facts.sections.cuda import Cuda, Library
from gonogo.node.facts.sections.gpu import Gpu
from gonogo.node.facts.sections.python import Python
from gonogo.platforms import wheels
from gonogo.platforms.identify import Platform
from gonogo.units import version_parts


def check_environment(python: Python) -> Iterator[Finding]:
    """An interpreter that does not answer: whatever is judged of its environment is guessed from the folder."""
    if isinstance(python.start, Missing):
        yield Finding(
            "G1.environment-unreadable",
            UNKNOWN,
            f"{python.executable} did not answer: {python.start.detail or python.start}",
            evidence=(f"chosen by {python.origin}",),
            values={"python": python.executable},
        )


def check_runtime(python: Python, cuda: Cuda | Missing, gpu: Gpu | Missing, platform: Platform) -> Iterator[Finding]:
    """torch's libcudart must be in the environment's own folders or where the system's loader looks."""
    torch = python.torch
    if isinstance(torch, Missing):
        if torch.reason == NOT_FOUND:
            yield Finding("G1.skipped", SKIP, f"no torch in {python.executable}")
        else:
            yield Finding("G1.unknown", UNKNOWN, f"torch could not be read: {torch}")
        return
    version, build = known(torch.version) or "of unknown version", known(torch.cuda)
    if isinstance(torch.cuda, Missing) and torch.cuda.reason != NOT_FOUND:
        yield Finding(
            "G1.unknown", UNKNOWN, f"torch {version}: what CUDA it was built for could not be read ({torch.cuda})"
        )
        return
    if build is None:
        kind = "ROCm" if known(torch.hip) else "no CUDA"
        yield Finding("G1.skipped", SKIP, f"torch {version} is built for {kind}: see G12")
        return
    major = version_parts(build)[:1]
    if not major:
        yield Finding("G1.unknown", UNKNOWN, f"torch {version} names the CUDA version {build!r}")
        return
    soname = "libcudart.so.11.0" if major == (11,) else f"libcudart.so.{major[0]}"
    built = f"torch {version} built against CUDA {build}"
    found = _find(soname, python, cuda)
    if found is None:
        values = wheels.advice(python, gpu, platform)
        yield _not_found(soname, built, python, cuda)._replace(values=values)
    elif major[0] < (platform.profile.cuda_major or 0):
        yield Finding(
            "G1.older-major",
            WARN,
            f"{built}: runs with {soname} ({found.found_by}), slower than a CUDA {platform.profile.cuda_major} build",
            evidence=(f"{soname} at {found.path}",),
            values=wheels.advice(python, gpu, platform),
        )
    else:
        yield Finding("G1.ok", PASS, built, evidence=(f"{soname} at {found.path} ({found.found_by})",))


def _find(soname: str, python: Python, cuda: Cuda | Missing) -> Library | None:
    system = () if isinstance(cuda, Missing) else known(cuda.loadable) or ()
    return next(
        (library for library in (*(known(python.cuda_libraries) or ()), *system) if library.name == soname), None
    )


def _not_found(soname: str, built: str, python: Python, cuda: Cuda | Missing) -> Finding:
    if isinstance(cuda, Missing) or isinstance(cuda.loadable, Missing) or isinstance(python.cuda_libraries, Missing):
        return Finding("G1.unknown", UNKNOWN, f"{built}; whether {soname} can be found was not read")
    others = sorted({library.name for library in (*python.cuda_libraries, *cuda.loadable)})
    return Finding(
        "G1.unresolved-library",
        FAIL,
        f"{built}, but no search path has {soname}",
        evidence=(
            "searched nvidia/*/lib, torch/lib and lib of the environment, LD_LIBRARY_PATH and the loader cache",
            f"found instead: {', '.join(others)}" if others else "no libcudart of any version found",
        ),
        confidence=MEDIUM,  # by names: the library itself was not read
    )


def check_driver(python: Python, gpu: Gpu, platform: Platform) -> Iterator[Finding]:
    """A runtime of a newer CUDA major than the driver serves cannot start; within one major it can."""
    torch = known(python.torch)
    build, serves = (known(torch.cuda) if torch else None), known(gpu.cuda_version)
    if torch is None or build is None or serves is None:
        return
    if version_parts(build)[:1] > version_parts(serves)[:1]:
        yield Finding(
            "G1.runtime-newer-than-driver",
            FAIL,
            f"torch needs CUDA {build}, the driver {known(gpu.driver_version) or ''} serves {serves}".replace(
                "  ", " "
            ),
            evidence=(f"torch/version.py: cuda = {build}", f"driver: CUDA {serves}"),
            values={"torch_cuda": build, **wheels.advice(python, gpu, platform)},
        )


def check_leftover(cuda: Cuda, python: Python | Missing, platform: Platform) -> Iterator[Finding]:
    """Where one major is expected, an older one in the loader cache is likely a leftover, unless torch runs on it."""
    wanted = platform.profile.cuda_major
    torch = None if isinstance(python, Missing) else known(python.torch)
    used = version_parts(known(torch.cuda) or "")[:1] if torch else ()
    registered = {library.name: library.path for library in known(cuda.registered) or ()}
    majors = {name: version_parts(name.rpartition("so.")[2])[:1] for name in registered}
    older = sorted(name for name, major in majors.items() if wanted and major < (wanted,) and major != used)
    if wanted and older and f"libcudart.so.{wanted}" in registered:
        yield Finding(
            "G1.leftover-runtime",
            WARN,
            f"{older[-1]} beside libcudart.so.{wanted} in the loader cache, likely a leftover",
            evidence=tuple(f"{name} at {path}" for name, path in registered.items()),
            confidence=MEDIUM,
            values={"leftover_path": registered[older[-1]]},
        )


def check_toolkit(python: Python, cuda: Cuda) -> Iterator[Finding]:
    """A toolkit of another version matters to those who compile extensions, and to nobody else."""
    torch, toolkit = known(python.torch), known(cuda.toolkit_version)
    build = known(torch.cuda) if torch else None
    if build and toolkit and version_parts(build)[:2] != version_parts(toolkit)[:2]:
        yield Finding(
            "G1.toolkit-differs",
            INFO,
            f"toolkit CUDA {toolkit} beside torch's runtime {build}: matters only when compiling extensions",
        )
