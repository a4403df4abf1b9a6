"""NCCL's variables as NCCL reads them.

Source: NCCL 2.30, misc/param.cc, misc/utils.cc, transport/net_ib/init.cc, graph/paths.cc.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_INTEGER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", re.ASCII)
#: Names of distances, the nearest first: LOC is never.
_LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
#: As udev and the kernel name network interfaces; RDMA devices are rocep1s0f0, mlx5_0, ibp1s0.
_INTERFACE = re.compile(r"(?:en[opsxP][0-9A-Za-z]+|eth[0-9]+|bond[0-9]+|wl[opsxP][0-9A-Za-z]+)(?:\.[0-9]+)?", re.ASCII)


def integer(text: str) -> int:
    """A number as strtoll reads it in base 0: 0x10 is 16, 010 is 8, words are 0."""
    found = _INTEGER.match(text)
    if found is None:
        return 0
    digits = found.group(2)
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    return int(digits, base) * (-1 if found.group(1) == "-" else 1)


def rdma_disabled(variables: Mapping[str, str]) -> list[str]:
    """The names of the variables that turn RDMA off."""
    found = ["NCCL_IB_DISABLE"] if integer(variables.get("NCCL_IB_DISABLE", "")) else []
    if variables.get("NCCL_NET", "").lower() == "socket":
        found.append("NCCL_NET")
    return found


def direct_rdma_wanted(level: str) -> bool:
    """Whether NCCL_NET_GDR_LEVEL asks for GPUDirect RDMA at any distance; a word that NCCL does not know is ignored."""
    if level in _LEVELS:
        return level != _LEVELS[0]
    return level[:1].isdigit() and integer(level) > 0


class HcaList(NamedTuple):
    """NCCL_IB_HCA: names with ports (None: any); without any entry every device is used."""

    entries: tuple[tuple[str, int | None], ...]
    excludes: bool
    exact: bool

    def names(self, entry: tuple[str, int | None], device: str, port: int = 1) -> bool:
        """Whether ``entry`` means this device: by its beginning, unless the list is an exact one."""
        name, wanted = entry
        return (device == name if self.exact else device.startswith(name)) and wanted in (None, port)

    def selects(self, device: str) -> bool:
        """Whether NCCL would use the first port of ``device``."""
        return any(self.names(entry, device) for entry in self.entries) != self.excludes if self.entries else True


def hca_list(text: str, cut: bool = False) -> HcaList:
    """NCCL_IB_HCA: ^ excludes, = is exact, names with an optional :port. ``cut``: the last name may be half of one."""
    excludes = text.startswith("^")
    text = text[1:] if excludes else text
    exact = text.startswith("=")
    parts = (text[1:] if exact else text).split(",")
    entries = []
    for part in parts[:-1] if cut else parts:
        name, _, port = part.partition(":")
        number = re.match(r"\s*([0-9]{1,5})", port, re.ASCII)
        if name:
            entries.append((name, int(number.group(1)) if number else None))
    return HcaList(tuple(entries), excludes, exact)


def looks_like_interface(name: str) -> bool:
    """Whether it is spelt as network interfaces are, and no RDMA device is."""
    return bool(_INTERFACE.fullmatch(name))
