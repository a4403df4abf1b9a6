"""Two commands timed in turn, as whole processes, and the ratio of their medians.

Turn about, so that whatever else the machine does hits both sides; what is compared is the ratio within one run.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"


class Side(NamedTuple):
    """One side of a comparison. ``statuses`` are the exit statuses that count as having worked."""

    name: str
    argv: list[str]
    statuses: tuple[int, ...] = (0,)


def compare(slow: Side, fast: Side, rounds: int, environment: dict[str, str]) -> dict[str, Any]:
    """Seconds of each side (minimum, median, maximum) and the ratio of the medians, after one warm-up of each."""
    times: dict[str, list[float]] = {slow.name: [], fast.name: []}
    for turn in range(rounds + 1):
        for side in (slow, fast):
            started = time.perf_counter()
            done = subprocess.run(
                side.argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            seconds = time.perf_counter() - started
            if done.returncode not in side.statuses:
                raise SystemExit(f"{side.name} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
            if turn:
                times[side.name].append(seconds)
    sides = {
        name: {
            "minimum_seconds": round(min(seconds), 4),
            "median_seconds": round(statistics.median(seconds), 4),
            "maximum_seconds": round(max(seconds), 4),
        }
        for name, seconds in times.items()
    }
    ratio = statistics.median(times[slow.name]) / statistics.median(times[fast.name])
    return {"rounds": rounds, "sides": sides, "ratio_of_medians": round(ratio, 1)}


def machine() -> dict[str, str]:
    """What was measured on: processor, cores, memory, kernel, Python. No host name."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    gpu = (
        subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        if any((Path(p) / "nvidia-smi").exists() for p in os.environ.get("PATH", "").split(":"))
        else ""
    )
    return {
        "processor": f"{model}, {os.cpu_count()} cores",
        "gpu": gpu or "none",
        "kernel": platform.release().partition("-")[0],
        "python": platform.python_version(),
    }


def record(name: str, result: dict[str, Any], versions: dict[str, str], label: str) -> None:
    """Write ``results/<name>-<label>.json`` and say it in one line."""
    RESULTS.mkdir(exist_ok=True)
    body = {
        "benchmark": name,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": machine(),
        "versions": versions,
        **result,
    }
    (RESULTS / f"{name}-{label}.json").write_text(json.dumps(body, indent=2) + "\n")
    sides = ", ".join(f"{side} {row['median_seconds'] * 1000:.0f} ms" for side, row in result["sides"].items())
    print(f"{name}: {sides}, ratio {result['ratio_of_medians']}")
