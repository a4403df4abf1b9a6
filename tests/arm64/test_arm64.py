"""The collector and the skill's script on the CPU architecture of a Spark, under qemu: ``make test-arm64``.

ARM64_ROOT names a Debian root for arm64 (scripts/arm64_root.sh). Expected values come from that system's own programs:
uname, ldconfig, and /proc/meminfo read by hand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
ROOT = Path(os.environ.get("ARM64_ROOT", "/nonexistent"))

pytestmark = pytest.mark.skipif("ARM64_ROOT" not in os.environ, reason="make test-arm64 names the arm64 root")


def inside(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the arm64 system; its /proc is this machine's, mounted for the time of the run."""
    script = f'mount -t proc proc "{ROOT}/proc" && exec chroot "{ROOT}" "$@"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *argv],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    (ROOT / "opt").mkdir(exist_ok=True)
    collector = ROOT / "opt" / "gonogo-collect.pyz"
    subprocess.run([sys.executable, str(PROJECT / "scripts" / "build_zipapp.py"), str(collector)], check=True)
    shutil.copy(
        PROJECT / "skills" / "spark-training-gotchas" / "assets" / "preflight.sh", ROOT / "opt" / "preflight.sh"
    )


def test_the_collector_speaks_for_this_architecture() -> None:
    assert inside("uname", "-m").stdout == "aarch64\n"
    completed = inside("python3", "/opt/gonogo-collect.pyz")
    assert completed.returncode == 0, completed.stderr
    document = json.loads(completed.stdout)
    sections = document["sections"]
    assert sections["identity"]["machine"] == "aarch64"
    assert sections["python"]["start"] is True
    assert sections["python"]["machine"] == "aarch64"
    assert {run["outcome"] for run in document["collectors"]} <= {"ok", "not_found"}


def test_the_loader_cache_is_read_as_ldconfig_reads_it() -> None:
    program = (
        "import sys; sys.path.insert(0, '/opt/gonogo-collect.pyz')\n"
        "from gonogo.node.parse.loader_cache import entries\n"
        "for e in entries(open('/etc/ld.so.cache', 'rb').read(), 'lib'): print(e.name, e.machine, e.path)"
    )
    ours = sorted(inside("python3", "-c", program).stdout.splitlines())
    rows = re.findall(r"^\t(lib\S+) \(libc6,AArch64[^)]*\) => (\S+)$", inside("ldconfig", "-p").stdout, re.MULTILINE)
    assert ours == sorted(f"{name} aarch64 {path}" for name, path in rows)
    assert len(ours) > 20


def test_facts_from_there_are_judged_here(tmp_path: Path) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text(inside("python3", "/opt/gonogo-collect.pyz").stdout)
    command = [sys.executable, "-m", "gonogo", "check", "--facts", str(facts), "--format", "json", "--platform", "gb10"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    outcome = json.loads(completed.stdout)
    assert outcome["platform"]["id"] == "gb10"
    assert outcome["verdict"] == "go-with-warnings"  # there is no torch
    assert [item["code"] for item in outcome["findings"] if item["status"] in ("WARN", "FAIL")] == []


@pytest.mark.parametrize("collector", [True, False], ids=["with the collector", "alone"])
def test_the_script_prints_its_ten_lines(collector: bool) -> None:
    pyz = ROOT / "opt" / "gonogo-collect.pyz"
    aside = pyz.with_suffix(".aside")
    if not collector:
        pyz.rename(aside)
    try:
        completed = inside("bash", "/opt/preflight.sh", "--folder", "/opt")
    finally:
        if not collector:
            aside.rename(pyz)
    lines = completed.stdout.splitlines()
    assert completed.returncode == 0
    assert [line.split()[0] for line in lines] == [f"G{number}" for number in range(1, 11)]
    meminfo = dict(re.findall(r"^(\w+): +(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE))
    found = re.match(r"G3 INFO: free/used \(GB\): (\d+\.\d) (\d+\.\d)$", lines[2])
    assert found is not None
    # KiB to GiB; available moves between the two readings, the sum does not.
    assert float(found[1]) + float(found[2]) == pytest.approx(int(meminfo["MemTotal"]) / 2**20, abs=0.11)
    assert lines[0].startswith("G1 SKIP: ")
