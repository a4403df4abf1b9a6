"""G18: an installed tool that fails because NVML has no memory to report on this machine. The GPU is fine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gonogo import known as dated
from gonogo.finding import PASS, SKIP, UNKNOWN, Finding
from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, Missing
from gonogo.node.facts.sections.python import Python
from gonogo.node.facts.sections.software import Software
from gonogo.platforms.identify import Platform


def check_tools(
    software: Software | Missing,
    python: Python | Missing,
    platform: Platform,
    versions: Mapping[str, str],
    known_rows: tuple[dated.Known, ...],
) -> Iterator[Finding]:
    """By the versions of packages; what runs in other containers is not seen."""
    if not platform.unified_memory:
        has_gpu = platform.gpu_expected or platform.assumed
        none = "no NVIDIA GPU" if platform.identity_known else "no NVIDIA GPU is known of"
        yield Finding("G18.skipped", SKIP, "this GPU has memory of its own" if has_gpu else none)
        return
    found = list(dated.findings("G18", known_rows, versions, platform))
    yield from found
    if found:
        return
    packages = software if isinstance(software, Missing) else software.packages
    distributions = python if isinstance(python, Missing) else python.distributions
    read = [
        name
        for name, fact in (("dpkg", packages), ("the Python environment", distributions))
        if not isinstance(fact, Missing)
    ]
    if read:
        text = f"no tool known to fail without NVML's memory figures among the packages of {' and '.join(read)}"
        yield Finding("G18.ok", PASS, text)
        return
    why = next(fact for fact in (packages, distributions) if isinstance(fact, Missing))
    absent = why.reason in (NOT_FOUND, NOT_COLLECTED)
    yield Finding("G18.skipped" if absent else "G18.unknown", SKIP if absent else UNKNOWN, f"packages: {why}")
