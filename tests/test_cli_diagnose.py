"""``gonogo diagnose`` as a user calls it: exit status, the machine given, the previous boot, formats, interruptions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import machine_stories
import pytest
from refusal import refused

from gonogo import schemas
from gonogo.cli import _context, _last_boot

NO_RUNTIME = "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n"
#: A rule for unified memory alone: GOTCHAS.md, "If a log names no device".
NO_ROOM = "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 104817.00 MiB on device 0: cudaMalloc failed: out of "
NO_ROOM += "memory\n"
WATCHDOG = (
    "[rank2]:[E626 05:06:30.929 ProcessGroupNCCL.cpp:632] [Rank 2] Watchdog caught collective operation timeout: x\n"
)
OOM_KILL = (
    "2026-11-30T10:00:00+0000 host kernel: Out of memory: Killed process 4411 (python) total-vm:1kB, "
    "anon-rss:119000000kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0\n"
)

Run = Callable[..., Any]


def document(completed: Any) -> dict[str, Any]:
    assert "Traceback" not in completed.stderr
    loaded: dict[str, Any] = json.loads(completed.stdout)
    jsonschema.Draft202012Validator(schemas.schema("diagnose") or {}).validate(loaded)
    return loaded


def codes(completed: Any) -> list[str]:
    return [item["code"] for item in document(completed)["diagnoses"]]


# -- exit status ------------------------------------------------------------------------------------------------------


def test_found_and_not_found(gonogo: Run) -> None:
    found = gonogo("diagnose", "-", input=f"step 1\n{NO_RUNTIME}")
    assert (found.returncode, found.stderr) == (1, "")
    assert found.stdout.startswith("likely: G1  ")
    assert f"  <stdin>:2: {NO_RUNTIME}" in found.stdout
    assert "\n  first: " in found.stdout
    nothing = gonogo("diagnose", "-", input="step 1\nstep 2\n")
    assert (nothing.returncode, nothing.stderr) == (0, "")
    assert nothing.stdout.startswith("nothing known was found in 2 lines, 14 bytes of <stdin>")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "--last-boot"),
        (["-", "--last-boot"], "--last-boot"),
        (["-", "--format", "yaml"], "json, markdown, text"),
        (["-", "--format", "../text"], "json, markdown, text"),
        (["-", "--here", "--facts", "x.json"], "one of them"),
        (["-", "--facts", "missing.json"], "cannot read missing.json"),
        (["-", "--facts", "/dev/null"], "no complete JSON"),
        (["missing.log"], "missing.log"),
        (["-", "--nonsense"], "--nonsense"),
        (["-", ""], "empty name"),
        (["-", "--output", "nowhere/result"], "cannot write"),
    ],
)
def test_a_call_that_cannot_be_carried_out(gonogo: Run, arguments: list[str], word: str) -> None:
    refused(gonogo("diagnose", *arguments, input=NO_RUNTIME), word)


def test_the_cause_goes_before_its_echo(gonogo: Run, tmp_path: Path) -> None:
    for name, text in (("rank0.log", WATCHDOG), ("rank1.log", "step 1\n" + NO_RUNTIME)):
        (tmp_path / name).write_text(text)
    completed = gonogo("diagnose", str(tmp_path / "rank0.log"), str(tmp_path / "rank1.log"), "--format", "json")
    found = document(completed)
    assert [item["gotcha"] for item in found["diagnoses"]] == ["G1"]
    assert [note["code"] for note in found["notes"]] == ["G14.collective-timeout"]
    evidence = found["diagnoses"][0]["evidence"][0]
    assert evidence == {"file": str(tmp_path / "rank1.log"), "line": 2, "text": NO_RUNTIME.rstrip()}
    text = gonogo("diagnose", str(tmp_path / "rank0.log"), str(tmp_path / "rank1.log")).stdout
    assert text.index("libcudart") < text.index("harmless, or a consequence") < text.index("Watchdog")


def test_formats_and_output(gonogo: Run, tmp_path: Path) -> None:
    target = tmp_path / "result"
    for name in ("json", "markdown", "text"):
        shown = gonogo("diagnose", "-", "--format", name, input=NO_RUNTIME)
        written = gonogo("diagnose", "-", "--format", name, "--output", str(target), input=NO_RUNTIME)
        assert (written.returncode, written.stdout) == (1, "")
        assert target.read_text() == shown.stdout
    assert "### G1: " in gonogo("diagnose", "-", "--format", "markdown", input=NO_RUNTIME).stdout


def test_the_result_does_not_replace_the_log(gonogo: Run, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(NO_RUNTIME)
    (tmp_path / "link").symlink_to("log")
    for target in ("log", "./link"):
        refused(gonogo("diagnose", "log", "--output", target, cwd=tmp_path), "is one of the logs")
    assert (tmp_path / "log").read_text() == NO_RUNTIME


def test_verbose_shows_all_evidence_and_notes(gonogo: Run) -> None:
    remark = "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.\n"
    rows = "".join(f"2026/11/30 10:00:{n:02}.000, 611 MHz, 96 %, 14.00 W, 51\n" for n in range(60))
    log = remark + "timestamp, clocks.sm [MHz], utilization.gpu [%], power.draw [W], temperature.gpu\n" + rows
    few, all_ = gonogo("diagnose", "-", input=log).stdout, gonogo("diagnose", "-", "-v", input=log).stdout
    assert 0 < few.count("611 MHz, 96 %") < all_.count("611 MHz, 96 %")


def test_hostile_logs_reach_no_terminal(gonogo: Run) -> None:
    log = f"\x1b]0;owned\x07\x1b[2J{NO_RUNTIME.rstrip()}\x1b[8m \u202ehidden\x9b0m\r\x00\n"
    for arguments in ((), ("--format", "markdown"), ("-v",)):
        completed = gonogo("diagnose", "-", *arguments, input=log)
        assert completed.returncode == 1
        assert all(letter.isprintable() or letter in "\n\u200b" for letter in completed.stdout)


def test_markdown_holds_no_private_names(gonogo: Run, tmp_path: Path) -> None:
    home = tmp_path / "people" / "quentin"
    home.mkdir(parents=True)
    private = f" in {home}/run of /home/olivia at 10.11.12.13, hf_abcdefghijklmnop12 @everybody"
    log = home / "train.log"
    log.write_text(NO_RUNTIME.rstrip() + private + "\n" + WATCHDOG.rstrip() + private + "\n")
    variables: dict[str, str | None] = {"HOME": str(home), "USER": "quentin"}
    completed = gonogo("diagnose", str(log), "--format", "markdown", env=variables)
    assert completed.returncode == 1
    for word in ("quentin", "olivia", "10.11.12.13", "hf_abc"):
        assert word not in completed.stdout


# -- the machine ------------------------------------------------------------------------------------------------------

STORIES = machine_stories.load_all()
THOR = {"address": "0000:01:00.0", "vendor_id": "10de", "device_id": "2b00", "class_code": "030200"}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_memory_of_every_story(story: Any, written: Callable[[Any], str]) -> None:
    # A Spark has one pool; H100, H200 and RTX 5090 have memory of their own (NVIDIA's product pages).
    device = _context.of_record(written(story.document))
    if story.request.platform or story.expected.platform in ("none", "generic"):
        assert device is None or device.memory in ("unified", "discrete")
        return
    assert device is not None
    assert device.memory == ("unified" if story.expected.platform == "gb10" else "discrete")
    assert device.spark is (story.expected.platform == "gb10")


def test_facts_decide_which_rules_may_speak(gonogo: Run, spark: Run, written: Callable[[Any], str]) -> None:
    stories = {story.name: story.document for story in STORIES}
    pci = {"nvidia_pci_devices": [THOR], "system": "Linux", "machine": "aarch64"}
    nobody = spark(identity={"nvidia_pci_devices": []}, gpu=None)
    for facts, memory, confidences in (
        (stories["spark-idle-2026"], "unified", ["medium"]),
        (stories["h200-idle"], "discrete", []),
        (stories["rtx-5090-desktop"], "discrete", []),
        (spark(identity=pci, gpu=None), "unified", ["medium"]),
        (nobody, None, ["low"]),
    ):
        completed = gonogo("diagnose", "-", "--facts", written(facts), "--format", "json", input=NO_ROOM)
        found = document(completed)
        assert (found["device"], [item["confidence"] for item in found["diagnoses"]]) == (memory, confidences)
        assert completed.returncode == bool(confidences)
    assert found["diagnoses"][0]["if_device"] == "unified"
    assert "if this is a machine with unified memory" in gonogo("diagnose", "-", input=NO_ROOM).stdout


def test_a_log_that_names_another_machine_than_the_given(gonogo: Run, written: Callable[[Any], str]) -> None:
    facts = written(next(story.document for story in STORIES if story.name == "spark-idle-2026"))
    completed = gonogo("diagnose", "-", "--facts", facts, "--format", "json", input="NVIDIA H200\n")
    found = document(completed)
    assert (completed.returncode, found["device"], len(found["problems"])) == (0, "unified", 1)
    for word in ("discrete", "unified"):
        assert word in found["problems"][0]
        assert word in completed.stderr


def test_facts_of_a_raw_record_and_from_standard_input(gonogo: Run, tmp_path: Path) -> None:
    raw = machine_stories.MACHINES / "h200-recorded" / "raw.json"
    assert codes(gonogo("diagnose", "-", "--facts", str(raw), "--format", "json", input=NO_ROOM)) == []
    log = tmp_path / "log"
    log.write_text(NO_ROOM)
    completed = gonogo("diagnose", str(log), "--facts", "-", "--format", "json", input=raw.read_text())
    assert (completed.returncode, codes(completed)) == (0, [])


def test_facts_without_a_gpu_s_memory_tell_nothing(spark: Run, written: Callable[[Any], str]) -> None:
    # A driver's library that does not answer, or a GPU that nobody knows: not a card for that.
    unknown = {"name": "Orin (nvgpu)", "pci_device_id": {"missing": "not_supported"}, "compute_capability": "8.7"}
    plain = {"nvidia_pci_devices": [], "system": "Linux", "machine": "aarch64"}
    for devices, memory in (([], None), ([unknown], None), ([{**unknown, "memory_total_bytes": 24 << 30}], "discrete")):
        gpu = {"source": "nvml", "devices": [{"device_index": 0, **device} for device in devices]}
        device = _context.of_record(written(spark(identity=plain, gpu=gpu)))
        assert (device.memory if device else None) == memory


def test_here(gonogo: Run) -> None:
    # The oracle is this machine's own record.
    device = _context.of_this_machine()
    found = document(gonogo("diagnose", "-", "--here", "--format", "json", input=NO_ROOM))
    assert found["device"] == (device.memory if device else None)


# -- the previous boot ------------------------------------------------------------------------------------------------


@pytest.fixture
def journal(tmp_path: Path) -> Callable[[str], dict[str, str | None]]:
    """Put a journalctl of this text first in PATH; returns the environment."""

    def make(script: str) -> dict[str, str | None]:
        program = tmp_path / "fake" / "journalctl"
        program.parent.mkdir(exist_ok=True)
        program.write_text(script)
        program.chmod(0o755)
        return {"PATH": f"{program.parent}:/usr/bin:/bin"}

    return make


#: Answers the trial with a line, and everything else with a boot.
BOOT = '#!/bin/sh\ncase "$*" in *"-n 1"*) echo "a line";; *) cat {boot};; esac\n{then}\n'


def test_the_last_boot_with_an_oom_kill(gonogo: Run, journal: Run, tmp_path: Path) -> None:
    (tmp_path / "boot").write_text("2026-11-30T09:00:00+0000 host kernel: Linux version 6.17\n" * 50 + OOM_KILL)
    completed = gonogo(
        "diagnose", "--last-boot", "--format", "json", env=journal(BOOT.format(boot=tmp_path / "boot", then=""))
    )
    found = document(completed)
    assert completed.returncode == 1
    assert found["files"][0] == "journal of the previous boot"
    first = next(item for item in found["diagnoses"] if item["gotcha"] in ("G3", "G15"))
    assert (first["evidence"][0]["file"], first["evidence"][0]["line"]) == ("journal of the previous boot", 51)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "#!/bin/sh\necho 'No journal files were opened due to insufficient permissions.' >&2; exit 1\n",
            "insufficient perm",
        ),
        ("\x7fELF no program\n", "the journal is left out: "),
        ("#!/bin/sh\necho 'Data from the specified boot is not available' >&2; exit 1\n", ""),
    ],
)
def test_the_last_boot_without_its_journal(gonogo: Run, journal: Run, script: str, said: str) -> None:
    completed = gonogo("diagnose", "--last-boot", "--format", "json", env=journal(script))
    assert said in completed.stderr
    assert "Traceback" not in completed.stderr
    if completed.returncode == 2:  # nothing else of that boot is here
        assert "left nothing that may be read" in completed.stderr
    else:
        assert "journal of the previous boot" not in document(completed)["files"]


def test_a_journal_that_hangs_at_once_is_left_out(journal: Run, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    folder = str(journal("#!/bin/sh\nexec sleep 60\n")["PATH"]).partition(":")[0]
    monkeypatch.setattr(_last_boot, "TRIAL_SECONDS", 0.1)
    assert not _last_boot._has_previous_boot(f"{folder}/journalctl")
    assert "the journal is left out: no answer within" in capsys.readouterr().err


def test_the_last_boot_of_this_machine(gonogo: Run) -> None:
    completed = gonogo("diagnose", "--last-boot", "--format", "json")
    if completed.returncode == 2:
        refused(completed, "the previous boot left nothing")
    else:
        assert document(completed)["files"]
