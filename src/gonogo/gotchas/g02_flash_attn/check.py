"""G2 from what is installed: flash-attn alone asks nothing of anybody; beside Unsloth its source decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gonogo.finding import INFO, PASS, SKIP, UNKNOWN, Finding
from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, Missing, known
from gonogo.node.facts.sections.python import Python

FLASH_ATTN, UNSLOTH = "pip:flash-attn", "pip:unsloth"


def check_attention(python: Python, versions: Mapping[str, str]) -> Iterator[Finding]:
    """Presence and version only. That an import works proves no kernel; the source of Unsloth is not read here."""
    if isinstance(python.torch, Missing):
        if python.torch.reason in (NOT_FOUND, NOT_COLLECTED):
            yield Finding("G2.skipped", SKIP, "no torch to judge")
        else:
            yield Finding("G2.unknown", UNKNOWN, f"torch could not be read: {python.torch}")
        return
    if isinstance(python.distributions, Missing):
        yield Finding("G2.unknown", UNKNOWN, f"installed packages could not be read: {python.distributions}")
        return
    flash, unsloth = versions.get(FLASH_ATTN), versions.get(UNSLOTH)
    if flash is None:
        yield Finding("G2.ok", PASS, "no flash-attn installed: nothing depends on it, SDPA serves", _evidence(python))
    elif unsloth is None:
        text = f"flash-attn {flash} is installed and nothing asks otherwise; its kernels are not proven by that"
        yield Finding("G2.present", INFO, text, _evidence(python))
    else:
        text = (
            f"Unsloth {unsloth} beside flash-attn {flash}: whether it drops a requested attention is not known, "
            "its source is not read yet"
        )
        yield Finding("G2.source-not-read", UNKNOWN, text, _evidence(python), values={"python": python.executable})


def _evidence(python: Python) -> tuple[str, ...]:
    rows = [row for row in known(python.distributions) or () if row.name in ("flash-attn", "unsloth")]
    found = tuple(f"{row.name} {row.version} in {row.folder}" for row in rows)
    return found or (f"no flash-attn among the packages of {python.executable}",)
