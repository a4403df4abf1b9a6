"""What machine a log is of, by what it names: decides whether a rule for unified memory may speak."""

from __future__ import annotations

import re
from typing import NamedTuple

from gonogo.logs.matching import Match, Matcher
from gonogo.logs.signatures import DISCRETE, UNIFIED

_JETSON = r"\bJetson\b|\bAGX Orin\b|\bAGX Thor\b|\bNVIDIA Thor\b"
#: Pattern, and what it shows. Spark's marks first: they are sure where a name is not.
_MARKS = (
    (
        r"(?:\b|_)GB10\b|DGX[ _]Spark|\bGX10\b|NVIDIA_DGX_Spark|000[fF]:01:00",
        UNIFIED,
        ("GB10", "DGX Spark", "DGX_Spark", "GX10", "000f:01:00", "000F:01:00"),
    ),
    (
        r"\bsm_?121[af]?\b|compute_121[af]?\b|\b[Cc]apability:? ?(?:\(?CC\)? ?)?\(?12[.,] ?1\b|\bSM ?12\.1\b|cc=1210",
        UNIFIED,
        ("sm_121", "sm121", "compute_121", "apability", "SM 12.1", "SM12.1", "cc=1210"),
    ),
    (
        r"\b(?:enP2p1s0f|roceP2p1s0f|enp1s0f[01]np[01]|rocep1s0f)",
        UNIFIED,
        ("enP2p1s0f", "roceP2p1s0f", "enp1s0f", "rocep1s0f"),
    ),
    (
        r"(?:\b|_)(?:RTX[ _]?(?:[A-Z]?[0-9]{4}|PRO|6000|[2-5]0-series|[2-5]0 series)|GeForce|Tesla|Quadro|TITAN"
        r"|(?:[AV]100|H[12]00|B[23]00|L40S?|L4|T4)(?:\b|_)|GH200|GB[23]00)",
        DISCRETE,
        (
            "RTX",
            "GeForce",
            "Tesla",
            "Quadro",
            "TITAN",
            "A100",
            "V100",
            "H100",
            "H200",
            "B200",
            "B300",
            "NVIDIA L4",
            "NVIDIA_L4",
            "Tesla T4",
            "-PCIE",
            "GH200",
            "GB200",
            "GB300",
        ),
    ),
    (
        _JETSON,
        UNIFIED,
        ("Jetson", "AGX Orin", "AGX Thor", "NVIDIA Thor"),
    ),
    (
        r"(?:total capaci?ty of |GPU [0-9]; |/|total=\")(?P<total_gib>[0-9]{1,9}(?:\.[0-9]{1,9})?) ?GiB"
        r"|MemTotal: +(?P<total_kb>[0-9]{1,15}) kB|Total VRAM (?P<total_mb>[0-9]{1,12}) MB",
        "",
        ("total capacity of ", "total capacty of ", "(GPU 0; ", " GiB)", "GiB/", "MemTotal:", "Total VRAM ", 'total="'),
    ),
    (r"\baarch64\b|\barm64\b", "aarch64", ("aarch64", "arm64")),
    (r"\bcu13[0-9]\b|CUDA(?: Version)?:? 13\.", "cuda13", ("cu130", "cu131", "cu132", "CUDA 13.", "CUDA Version: 13.")),
    (r"\bx86_64\b", "x86_64", ("x86_64",)),
)


class Device(NamedTuple):
    """``memory`` is unified, discrete or empty for unknown; ``evidence`` the line that says so.

    ``other``: a machine with unified memory that is no Spark.
    """

    memory: str = ""
    evidence: Match | None = None
    other: bool = False

    @property
    def unified(self) -> bool:
        """A Spark, or another machine whose GPU shares the system's memory."""
        return self.memory == UNIFIED

    @property
    def spark(self) -> bool:
        """A Spark, as far as the log tells it from others with unified memory."""
        return self.unified and not self.other

    @property
    def discrete(self) -> bool:
        """A card with memory of its own."""
        return self.memory == DISCRETE


def patterns() -> list[tuple[str, tuple[str, ...]]]:
    """What the matcher has to look for."""
    return [(pattern, literals) for pattern, _, literals in _MARKS]


def told_by(matcher: Matcher) -> Device:
    """The device of the log: what names a Spark, then what names a card, then sizes, then CPU and CUDA together."""
    by_mark: dict[str, list[Match]] = {}
    for pattern, mark, _ in _MARKS:
        by_mark.setdefault(mark, []).extend(matcher.of(pattern))
    for mark in (UNIFIED, DISCRETE):
        if by_mark[mark]:
            return Device(mark, by_mark[mark][0], bool(re.search(_JETSON, by_mark[mark][0].text)))
    for match in by_mark[""]:
        total = _total_gib(match)
        if total is not None and 119.0 <= total <= 123.5:  # a Spark, or a Jetson Thor
            if "total_kb" in match.groups and by_mark["x86_64"] and not by_mark["aarch64"]:
                continue  # the memory of an ordinary computer with about as much
            if "total_gib" in match.groups and not re.search("GPU|device|CUDA|total|emory", match.text):
                continue  # so far of so much, of anything
            return Device(UNIFIED, match)
    for match in by_mark[""]:
        total = _total_gib(match)
        if (
            total is not None
            and "total_gib" in match.groups
            and total > 4
            and re.search(r"GPU|device|CUDA", match.text)
        ):
            return Device(DISCRETE, match)
    if by_mark["aarch64"] and by_mark["cuda13"]:
        return Device(UNIFIED, by_mark["aarch64"][0])
    return Device()


def _total_gib(match: Match) -> float | None:
    if "total_gib" in match.groups:
        return float(match.groups["total_gib"])
    if "total_kb" in match.groups:
        return int(match.groups["total_kb"]) / (1 << 20)
    if "total_mb" in match.groups:
        return int(match.groups["total_mb"]) / 1024
    return None
