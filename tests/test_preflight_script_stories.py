"""The stories of ``machines/`` acted out as files that a shell reads, for the skill's preflight.sh alone.

The script knows less than gonogo. It may not be more alarmed than a story allows, it gives the same readings, and it
passes nothing that gonogo fails, as far as it reads what gonogo reads.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from machine_stories import Story, load_all
from preflight_script import Machine, mountinfo

from gonogo.finding import rank

STORIES = load_all()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def act_out(machine: Machine, story: Story) -> dict[str, str | None]:
    """Make the story's files and stand-ins; the variables it needs are returned."""
    sections = story.sections
    _memory(machine, sections.get("memory", {}))
    _identity(machine, sections.get("identity", {}))
    _gpu(machine, sections.get("gpu", {"missing": "not_found"}))
    _python(machine, sections.get("python", {"missing": "not_found"}), sections)
    return _container(machine, sections.get("container", {}))


def value(facts: dict[str, Any], name: str) -> Any:
    fact = facts.get(name)
    return None if isinstance(fact, dict) and "missing" in fact else fact


def _memory(machine: Machine, facts: dict[str, Any]) -> None:
    names = {"total_bytes": "MemTotal", "free_bytes": "MemFree", "available_bytes": "MemAvailable"}
    rows = [
        f"{name}:   {value(facts, key) // 1024} kB\n" for key, name in names.items() if value(facts, key) is not None
    ]
    machine.file("proc/meminfo", "".join(rows))


def _identity(machine: Machine, facts: dict[str, Any]) -> None:
    machine.pci(*((row["vendor_id"], row["device_id"]) for row in value(facts, "nvidia_pci_devices") or ()))
    for name in ("dgx_release", "fastos_release"):
        if value(facts, name):
            rows = [f'{key}="{text}"\n' for key, text in facts[name].items()]
            machine.file(f"etc/{name.replace('_', '-')}", "".join(rows))


def _gpu(machine: Machine, facts: dict[str, Any]) -> None:
    missing, devices = facts.get("missing", "not_found"), value(facts, "devices")
    if devices:
        shown = [
            "{}, {}, {}\n".format(
                value(device, "temperature_celsius") or "N/A",
                "[N/A]" if value(device, "power_watts") is None else f"{device['power_watts']:.2f} W",
                value(device, "compute_capability") or "[N/A]",
            )
            for device in devices
        ]
        machine.box.nvidia_smi("".join(shown))
    elif missing == "timed_out":
        (machine.box.bin / "sleep").symlink_to("/bin/sleep")
        machine.box.program("nvidia-smi", "exec sleep 50")
    elif missing != "not_found":
        machine.box.nvidia_smi(str(facts.get("detail", missing)), 9)


def _python(machine: Machine, facts: dict[str, Any], sections: dict[str, Any]) -> None:
    start, torch = facts.get("start", True), facts.get("torch", {"missing": "not_found"})
    if "missing" in facts:
        return
    if isinstance(start, dict):
        (machine.box.bin / "sleep").unlink(missing_ok=True)
        (machine.box.bin / "sleep").symlink_to("/bin/sleep")
        machine.box.program("python3", "exec sleep 50" if start.get("missing") == "timed_out" else "kill -SEGV $$")
    elif "missing" in torch:
        machine.box.python()
    else:
        cuda = value(torch, "cuda")
        libraries = [*(value(facts, "cuda_libraries") or ()), *(value(sections.get("cuda", {}), "loadable") or ())]
        soname, before = f"libcudart.so.{str(cuda).partition('.')[0]}", ""
        if cuda and soname not in [library["name"] for library in libraries]:
            message = f"{soname}: cannot open shared object file: No such file or directory"
            before = f"raise ImportError({message!r})"
        if value(torch, "machine") not in (None, sections.get("identity", {}).get("machine")):
            before = "raise ModuleNotFoundError(\"No module named 'torch._C'\")"
        machine.box.torch(value(torch, "version") or "?", cuda, before)


def _container(machine: Machine, facts: dict[str, Any]) -> dict[str, str | None]:
    for marker in value(facts, "markers") or ():
        machine.file(marker.lstrip("/"), "")
    if value(facts, "cgroup") is None:
        machine.without("proc/1/cgroup")
    else:
        machine.file("proc/1/cgroup", facts["cgroup"])
    if value(facts, "root_filesystem"):
        parts = (facts["root_filesystem"], value(facts, "root_source") or "none", value(facts, "root_subtree") or "/")
        machine.file("proc/self/mountinfo", mountinfo(*parts, injected=tuple(value(facts, "bind_mounts") or ())))
    return {"container": (value(facts, "environment") or {}).get("container")}


READ = ("G1", "G3", "G4", "G7", "G9")
#: Read by gonogo alone: which CUDA the driver serves.
NOT_READ = ("G1.runtime-newer-than-driver",)
SAME = ("G1", "G1.ok", "G1.older-major", "G1.unresolved-library", "G1.skipped", "G9.contradiction", "G9.no-marker")
#: How a story's G3 and G4 begin: the two figures.
READING = re.compile(r"\^(?:free/used \\\(GB\\\): [\d\\.]+ [\d\\.]+|[\d/NA]+, [\d\\.]+ W)")


@pytest.mark.parametrize("story", [s for s in STORIES if not s.request.platform], ids=lambda story: story.name)
def test_a_story(machine: Machine, story: Story) -> None:
    variables = act_out(machine, story)
    machine.box.quick()
    lines = machine.lines(env=variables, limit=40)
    for entry in story.expected.must_not:
        for gotcha in READ:
            if entry.prefix in ("", gotcha) and entry.min_status != "PASS":
                assert rank(lines[gotcha].status) < rank(entry.min_status), lines[gotcha]
    for must in story.expected.must:
        gotcha = must.code.partition(".")[0]
        if gotcha not in READ or must.code in NOT_READ:
            continue
        line, reading = lines[gotcha], READING.match(must.message)
        # Of several GPUs gonogo tells the worst, the script the first.
        if reading and not (gotcha == "G4" and len(story.devices()) > 1):
            assert re.search(reading.group(), line.message), (must, line)
        if gotcha == "G1" and "FAIL" in must.statuses:
            assert line.status in ("FAIL", "UNKNOWN"), (must, line)
        if must.code in SAME:
            assert line.status in must.statuses, (must, line)
