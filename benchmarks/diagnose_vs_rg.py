"""``gonogo diagnose`` of a large log against ``rg -c -f`` with the same patterns on the same file, as whole processes.

The log is generated: training and server lines with colours, ranks and container prefixes, and one failure at its end.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pairs

from gonogo import catalogue

FORMS = (
    "2026-11-30 12:{a:02}:{b:02},{c:03} INFO trainer step {c} loss {d:.4f} lr 1.0e-05 samples/s {e:.1f}",
    "(EngineCore pid=630) INFO 11-30 12:{a:02}:{b:02} [loggers.py:127] Engine 000: {c} prompt tokens, {e:.1f} running",
    '\x1b[32mINFO\x1b[0m:     10.0.0.{a}:{c} - "POST /v1/chat/completions HTTP/1.1" \x1b[32m200 OK\x1b[0m {d:.3f}s',
    "[rank{a}]: node1:{b}:{c} [0] Channel {a:02}/0 : 0[0] -> 1[0] [receive] comm {c:x} {d:.2f}",
    "train-worker-{a} | Nov 30 12:{a:02}:{b:02} kernel: usb 1-{b}: new high-speed device number {c} using xhci",
)
FAILURE = (
    "(EngineCore pid=253) ValueError: Free memory on device cuda:0 (85.92/121.69 GiB) on startup is less than desired "
    "GPU memory utilization (0.92, 111.95 GiB).\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--gonogo", default=shutil.which("gonogo", path=str(Path(sys.executable).parent)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--label", default="laptop", help="names the machine in the result's file name")
    options = parser.parse_args()
    folder = Path(__file__).parent.parent / "build" / "diagnose"
    folder.mkdir(parents=True, exist_ok=True)
    log, patterns = folder / "large.log", folder / "patterns"
    _generate(log, int(options.gigabytes * 1e9))
    count = _patterns(patterns)
    result = pairs.compare(
        pairs.Side(f"rg -c -f ({count} patterns)", ["rg", "-c", "-f", str(patterns), str(log)], statuses=(0, 1)),
        pairs.Side("gonogo diagnose", [options.gonogo, "diagnose", "--format", "json", str(log)], statuses=(1,)),
        options.rounds,
        dict(os.environ),
    )
    versions = {
        "gonogo": _said([options.gonogo, "--version"]).split()[-1],
        "ripgrep": _said(["rg", "--version"]).split()[1],
        "log_bytes": str(log.stat().st_size),
    }
    pairs.record("diagnose_vs_rg", result, versions, options.label)


def _generate(path: Path, size: int) -> None:
    if path.exists() and path.stat().st_size >= size:
        return
    random.seed(7)
    lines = [
        random.choice(FORMS).format(
            a=random.randrange(60),
            b=random.randrange(60),
            c=random.randrange(1000),
            d=random.random(),
            e=random.random(),
        )
        for _ in range(200_000)
    ]
    with path.open("w") as file:
        while file.tell() < size:
            random.shuffle(lines)
            file.write("\n".join(lines) + "\n")
        file.write(FAILURE)


def _patterns(path: Path) -> int:
    """Every pattern of the catalogue that ripgrep takes; it wants no two groups of one name."""
    found: set[str] = set()
    for rows in catalogue.signatures().values():
        for row in rows:
            found |= {part["pattern"] for part in (row, *row.get("needs", ()), *row.get("unless", ()))}
    plain = sorted(re.sub(r"\(\?P<[a-z_]+>", "(?:", pattern) for pattern in found)
    taken = [pattern for pattern in plain if _takes(pattern)]
    path.write_text("\n".join(taken) + "\n")
    return len(taken)


def _takes(pattern: str) -> bool:
    return subprocess.run(["rg", "-c", "-e", pattern, "/dev/null"], capture_output=True, check=False).returncode < 2


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
