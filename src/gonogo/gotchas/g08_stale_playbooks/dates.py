"""When the catalogue's dated data was put together, and the newest majors that it knows."""

from __future__ import annotations

from typing import NamedTuple

#: The day on which known.toml of every gotcha was last gone through.
CATALOGUE_DATE = "2026-11-30"
#: Older data is said to be old (the status table of the field rules).
OLD_DAYS = 180


class Newest(NamedTuple):
    """``subject`` as in ``platforms.inventory``; ``source`` says where that major was seen."""

    name: str
    subject: str
    major: int
    source: str


NEWEST = (
    Newest("torch", "pip:torch", 2, "torch 2.11 in the NGC images of 2026"),
    Newest("CUDA", "cuda", 13, "CUDA 13.4 with driver 615.65.02 (published GB10 figures)"),
    Newest("driver", "driver", 615, "driver 615.65.02 (published GB10 figures)"),
)
