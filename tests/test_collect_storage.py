"""Where a run writes and how much room is there. Oracles: df and stat -f, and huggingface_hub's own rules."""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import running_as_root
from hypothesis import example, given
from hypothesis import strategies as st
from made_host import host, reason

from gonogo.node.collect import storage
from gonogo.node.facts.missing import FAILED, NOT_FOUND, PERMISSION_DENIED, Missing
from gonogo.node.facts.sections.storage import Place, Storage
from gonogo.node.ports import recording
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import live_host

linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="Linux alone has df --output")


def by_purpose(facts: Storage) -> dict[str, Place]:
    assert not isinstance(facts.places, Missing)
    return {place.purpose: place for place in facts.places}


def df(path: Path | str, *columns: str) -> list[int]:
    text = subprocess.run(
        ["df", "-B1", f"--output={','.join(columns)}", str(path)], capture_output=True, text=True, check=True
    ).stdout
    return [int(word) if word != "-" else 0 for word in text.splitlines()[1].split()]


# -- which folders ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "/home/ada/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/big/cache"}, "/big/cache/huggingface/hub"),
        ({"HF_HOME": "/big/hf", "XDG_CACHE_HOME": "/other"}, "/big/hf/hub"),
        ({"HF_HOME": "~/hf"}, "/home/ada/hf/hub"),
        ({"HF_HOME": "$SCRATCH/${USER}/hf", "SCRATCH": "/scratch", "USER": "ada"}, "/scratch/ada/hf/hub"),
        ({"HF_HOME": "$UNSET/hf"}, "/work/$UNSET/hf/hub"),
        ({"HUGGINGFACE_HUB_CACHE": "/old", "HF_HOME": "/big/hf"}, "/old"),
        ({"HF_HUB_CACHE": "/new", "HUGGINGFACE_HUB_CACHE": "/old"}, "/new"),
        ({"HF_HUB_CACHE": "models"}, "/work/models"),
        ({"HF_HOME": ""}, "/work/hub"),
    ],
)
def test_the_models_folder_is_huggingface_hubs(environment: dict[str, str], folder: str) -> None:
    # Expected values: os.path.expandvars(expanduser(...)) as huggingface_hub/constants.py has it, run in /work.
    assert storage.models_folder({"HOME": "/home/ada", **environment}, "/work") == folder


@pytest.mark.parametrize("environment", [{}, {"HOME": "/home/ada", "HF_HOME": "~bob/hf"}])
def test_a_home_that_is_not_known_is_no_folder(environment: dict[str, str], tmp_path: Path) -> None:
    place = by_purpose(storage.collect(host(tmp_path, environment=environment, folder="/")))["models"]
    assert reason(place.total_bytes) == reason(place.available_bytes) == NOT_FOUND


@given(st.text(), st.dictionaries(st.sampled_from(["HOME", "A", "B"]), st.text()))
@example("~", {"HOME": "/"})
@example("${", {})
def test_expansion_is_pythons_own(path: str, environment: dict[str, str]) -> None:
    """os.path.expandvars, and expanduser for one's own home, are the oracle."""
    found = storage._expanded(path, environment)
    if found is None:
        assert path.startswith("~")
        return
    saved = dict(os.environ)
    try:
        os.environ.clear()
        with contextlib.suppress(ValueError):  # what no environment can hold
            os.environ.update(environment)
            assert found == posixpath.expandvars(posixpath.expanduser(path))
    finally:
        os.environ.clear()
        os.environ.update(saved)


HOME = {"HOME": "/home/ada"}


def test_the_nearest_folder_that_exists_is_measured(tmp_path: Path) -> None:
    machine = host(tmp_path, {"/home/ada": None}, environment=HOME, folder="/home/ada")
    assert by_purpose(storage.collect(machine))["models"].path == "/home/ada"
    (tmp_path / "home/ada/.cache/huggingface").mkdir(parents=True)
    assert by_purpose(storage.collect(machine))["models"].path == "/home/ada/.cache/huggingface"
    nowhere = host(tmp_path / "b", environment={"HF_HOME": "/no/such/disk"})
    (tmp_path / "b").mkdir()
    assert by_purpose(storage.collect(nowhere))["models"].path == "/"


DAEMON = "/etc/docker/daemon.json"


@pytest.mark.parametrize(
    ("files", "images"),
    [
        ({}, None),
        ({"/var/lib/docker": None}, "/var/lib/docker"),
        ({"/var/lib/docker": None, "/data/docker": None, DAEMON: '{"data-root": "/data/docker"}'}, "/data/docker"),
        ({"/data/old": None, DAEMON: '{"graph": "/data/old"}'}, "/data/old"),
        ({"/var/lib/docker": None, DAEMON: '{"data-root": '}, "/var/lib/docker"),
        ({"/var/lib/docker": None, DAEMON: '{"data-root": ["/x"]}'}, "/var/lib/docker"),
        ({"/var/lib/docker": None, DAEMON: b"\xff\xfe\x00"}, "/var/lib/docker"),
        ({"/var/lib/containerd": None}, "/var/lib/containerd"),
        ({"/var/lib/docker": None, "/var/lib/containerd": None}, "/var/lib/docker"),
        ({"/home/ada/.local/share/containers/storage": None}, "/home/ada/.local/share/containers/storage"),
        ({"/home/ada/.local/share/docker": None}, "/home/ada/.local/share/docker"),
        ({"/var/snap/docker/common/var-lib-docker": None}, "/var/snap/docker/common/var-lib-docker"),
    ],
)
def test_the_images_folder(files: dict[str, Any], images: str | None, tmp_path: Path) -> None:
    found = by_purpose(storage.collect(host(tmp_path, files, environment=HOME, user=1000)))
    assert (found["images"].path if "images" in found else None) == images


def test_places_come_in_their_order(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {"/var/lib/docker": None, "/dev/shm": None, "/home/ada/run": None}
    facts = storage.collect(host(tmp_path, files, environment=HOME, folder="/home/ada/run", system="Linux"))
    assert not isinstance(facts.places, Missing)
    assert [(place.purpose, place.path) for place in facts.places] == [
        *(("models", "/home/ada"), ("images", "/var/lib/docker")),
        *(("folder", "/home/ada/run"), ("shared-memory", "/dev/shm")),
    ]
    assert len({place.filesystem for place in facts.places}) == 1  # all below one temporary folder


def test_a_deleted_working_folder_and_no_shared_memory(tmp_path: Path) -> None:
    found = by_purpose(storage.collect(host(tmp_path, environment=HOME, folder="/gone", system="Linux")))
    assert reason(found["folder"].available_bytes) == reason(found["shared-memory"].total_bytes) == NOT_FOUND
    assert set(by_purpose(storage.collect(host(tmp_path, environment=HOME)))) == {"models"}


def test_what_may_not_be_looked_at_is_a_fact(tmp_path: Path) -> None:
    class Denied(Files):
        def kind(self, path: str) -> str | Missing:
            return Missing(PERMISSION_DENIED) if path.startswith("/secret") else super().kind(path)

        def space(self, path: str) -> Any:
            return Missing(PERMISSION_DENIED) if path.startswith("/secret") else super().space(path)

    machine = host(tmp_path, environment={"HF_HOME": "/secret/hf"})._replace(files=Denied(str(tmp_path)))
    place = by_purpose(storage.collect(machine))["models"]
    assert place.path == "/secret/hf/hub"
    assert reason(place.available_bytes) == reason(place.writable) == PERMISSION_DENIED
    long = host(tmp_path, environment={"HF_HOME": "/" + "x" * 5000})
    assert reason(by_purpose(storage.collect(long))["models"].available_bytes) == FAILED  # File name too long


def test_nothing_of_daemon_json_but_its_settings_is_recorded(tmp_path: Path) -> None:
    text = json.dumps({"data-root": "/data", "proxies": {"http-proxy": "http://ada:secret@proxy"}})
    into = recording.empty()
    storage.collect(recording.recording_host(host(tmp_path, {DAEMON: text, "/data": None}, environment=HOME), into))
    assert "secret" not in repr(into) and "/data" in repr(into)
    again = by_purpose(storage.collect(recording.replayed_host(into)))
    assert again["images"].path == "/data"


# -- how much room ----------------------------------------------------------------------------------------------------


@linux
def test_this_machine_agrees_with_df() -> None:
    found = by_purpose(storage.collect(live_host()))
    assert {"models", "folder"} <= set(found)
    for place in found.values():
        if isinstance(place.total_bytes, Missing):
            assert not Path(place.path).exists()
            continue
        size, available, inodes = df(place.path, "size", "avail", "itotal")
        assert (place.total_bytes, place.total_inodes) == (size, inodes), place
        # Others write meanwhile: within 1 GB.
        assert abs(place.available_bytes - available) < 10**9  # type: ignore[operator]
        assert place.filesystem == Path(place.path).stat().st_dev


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small tmpfs. Skips where mounting is not allowed."""
    if not running_as_root() or shutil.which("mount") is None:
        pytest.skip("only root mounts")
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=False)
    if made.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def measured(folder: Path) -> Place:
    return by_purpose(storage.collect(live_host()._replace(folder=str(folder))))["folder"]


@linux
def test_a_filesystem_filled_to_the_brim(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=1m,nr_inodes=16") as folder:
        before = measured(folder)
        assert [before.total_bytes, before.available_bytes] == df(folder, "size", "avail") == [1 << 20, 1 << 20]
        with pytest.raises(OSError, match="No space left"), (folder / "x").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        full = measured(folder)
        assert [full.available_bytes, *df(folder, "avail")] == [0, 0]
        assert [full.total_inodes, full.available_inodes] == df(folder, "itotal", "iavail")
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        assert (before.writable, measured(folder).writable) == (True, False)


@linux
def test_a_filesystem_without_inodes_left_or_without_a_limit(tmp_path: Path) -> None:
    with mounted(tmp_path / "few", "size=1m,nr_inodes=4") as folder:
        with pytest.raises(OSError, match="No space left"):
            for name in "abcdef":
                (folder / name).touch()
        place = measured(folder)
        assert [place.total_inodes, place.available_inodes] == df(folder, "itotal", "iavail") == [4, 0]
    with mounted(tmp_path / "unlimited", "size=0") as folder:
        # tmpfs(5): a size of 0 is no limit; statvfs then shows 0 blocks of all kinds.
        assert (measured(folder).total_bytes, measured(folder).available_bytes) == (0, 0)
