"""``gonogo check --format plain`` against the bash script that people ran before, both as whole processes.

The script's equivalent: torch imported twice, free, nvidia-smi, two tests for a container. The judged environment must
hold torch: --environment DIR names one (a venv), otherwise one is made with torch==2.13.0.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pairs

SCRIPT = r"""
set -uo pipefail
cuda=$(python3 -c "import torch; print(torch.version.cuda or '')" 2>/dev/null)
echo "G1 ${cuda:-SKIP}"
free -g | awk 'NR==2 {print "G3 INFO: free/used (GB):", $4, $3}'
nvidia-smi --query-gpu=temperature.gpu,power.draw --format=csv,noheader 2>/dev/null || echo "G4 SKIP"
python3 -c "import torch; print(torch.cuda.get_device_capability())" 2>/dev/null || echo "G7 SKIP"
if [ -f /.dockerenv ] || [ -f /run/.containerenv ]; then echo "G9 PASS"
elif grep -qE '(docker|containerd|kubepods)' /proc/1/cgroup 2>/dev/null; then echo "G9 PASS"
else echo "G9 UNKNOWN"; fi
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", type=Path, help="an environment with torch (default: one is made)")
    parser.add_argument("--gonogo", default=shutil.which("gonogo", path=str(Path(sys.executable).parent)))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--label", default="laptop", help="names the machine in the result's file name")
    options = parser.parse_args()
    folder = options.environment or _environment()
    environment = {**os.environ, "VIRTUAL_ENV": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    python = str(folder / "bin" / "python3")
    result = pairs.compare(
        pairs.Side("script", ["bash", "-c", SCRIPT]),
        # 1: a machine without an NVIDIA GPU is no-go, which is an answer.
        pairs.Side("gonogo check", [options.gonogo, "check", "--format", "plain"], statuses=(0, 1)),
        options.rounds,
        environment,
    )
    torch = subprocess.run(
        [python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True
    )
    version = subprocess.run([options.gonogo, "--version"], capture_output=True, text=True, check=True)
    versions = {"gonogo": version.stdout.split()[-1], "torch": torch.stdout.strip()}
    pairs.record("check_vs_script", result, versions, options.label)


def _environment() -> Path:
    folder = Path(__file__).parent.parent / "build" / "torch-environment"
    if not (folder / "bin" / "python3").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", "torch==2.13.0", "numpy"], check=True)
    return folder


if __name__ == "__main__":
    main()
