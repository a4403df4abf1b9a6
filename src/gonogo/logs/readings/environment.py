"""What torch's collect_env printed, and variables of NCCL and launchers that a log sets or shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gonogo.logs.scanning import Line
from gonogo.node.launch_variables import relevant

LITERALS = (
    *("PyTorch version", "CUDA used to build PyTorch", "Nvidia driver version", "GPU models and", "GPU 0: NVIDIA "),
    *("NCCL_IB_", "NCCL_NET", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "WORLD_SIZE="),
)

_TORCH = re.compile(r"PyTorch version\s*: (?P<version>[0-9][0-9A-Za-z.+]*)")
_BUILT = re.compile(r"CUDA used to build PyTorch\s*: (?P<cuda>[0-9]+\.[0-9]+|None|Could not collect)")
_DRIVER = re.compile(r"Nvidia driver version\s*: (?P<driver>[0-9]+\.[0-9.]+)")
_GPU = re.compile(r"\bGPU (?P<index>[0-9]+): (?P<name>(?:NVIDIA|Tesla|Quadro|GeForce)[A-Za-z0-9 .-]*[A-Za-z0-9])")
_VARIABLE = re.compile(
    r"(?:^|[\s'\"])(?P<name>[A-Z][A-Z0-9_]{3,40})=['\"]?(?P<value>[A-Za-z0-9_.,:=^/+-]{0,100})(?=(?P<after>.?))"
)
#: A line of a compose file: the whole line is the setting.
_MAPPING = re.compile(r"^\s*(?P<name>[A-Z][A-Z0-9_]{3,40}): +['\"]?(?P<value>[A-Za-z0-9_.,:=^/+-]{1,100})['\"]?\s*$")
#: Before a variable that a text only speaks of, and before what is commented out.
_ADVICE = re.compile(
    r"(?:^|\s)#|\b(?:try|consider|please|hint|tip|can|could|may|might|should|suggest|recommend|passing|workaround|if)\b"
)


def variables(lines: Sequence[Line]) -> tuple[dict[str, str], list[int]]:
    """Variables that a run was started with, the last value of each; and the lines that set them."""
    found: dict[str, str] = {}
    places: list[int] = []
    for place, line in enumerate(lines):
        rows = [*_MAPPING.finditer(line.text), *_VARIABLE.finditer(line.text)]
        for row in rows:
            told = relevant(row["name"]) and not _ADVICE.search(line.text[max(0, row.start() - 60) : row.start() + 1])
            if told and row.groupdict().get("after") not in ("$", "<", "{"):  # of another variable, to be filled in
                found[row["name"]] = row["value"]
                places.append(place)
    return found, list(dict.fromkeys(places))


def torch_environment(lines: Sequence[Line]) -> tuple[dict[str, Any], list[int]]:
    """``version``, ``cuda`` (None: a build without), ``driver``, ``names`` of what collect_env printed."""
    found: dict[str, Any] = {}
    places: list[int] = []
    for place, line in enumerate(lines):
        for name, pattern in (("version", _TORCH), ("cuda", _BUILT), ("driver", _DRIVER)):
            row = pattern.search(line.text)
            if row and name not in found:
                value = row[1]
                found[name] = None if value in ("None", "Could not collect") else value
                places.append(place)
        if "version" in found:
            for row in _GPU.finditer(line.text):
                found.setdefault("names", {})[int(row["index"])] = row["name"]
                places.append(place)
    return (found, places) if "version" in found else ({}, [])
