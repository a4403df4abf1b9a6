"""Parsers against what other programs make of the same input. That nothing ever raises: test_parse_properties."""

from __future__ import annotations

import json
import platform
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from made_loader_cache import AARCH64, I386, X86_64, cache
from packaging.requirements import Requirement

from gonogo.node.parse import keyed, loader_cache, torch_version
from gonogo.node.parse.mounts import Mount, mountinfo

CACHE = Path("/etc/ld.so.cache")
LDCONFIG = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
needs_ldconfig = pytest.mark.skipif(LDCONFIG is None, reason="no ldconfig")
#: What `ldconfig -p` calls programs of each machine (elf/cache.c, print_entry).
MACHINES = {"x86-64": "x86_64", "AArch64": "aarch64"}


# -- the loader cache -------------------------------------------------------------------------------------------------


def _printed(*arguments: str) -> list[tuple[str, str, str]]:
    """`ldconfig -p` as (soname, path, machine)."""
    text = subprocess.run([str(LDCONFIG), "-p", *arguments], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\t(.+) \(([^)]*)\) => (.+)$", text, re.MULTILINE)
    kinds = [(name, path, re.split(r", ?", flags)) for name, flags, path in found]
    return [(name, path, next((MACHINES[k] for k in kind if k in MACHINES), "")) for name, path, kind in kinds]


@needs_ldconfig
@pytest.mark.skipif(not CACHE.exists(), reason="no loader cache")
@pytest.mark.parametrize("prefix", ["", "lib", "libc", "libcrypt", "ld-linux", "libcudart.so.", "no such library"])
def test_loader_cache_is_what_ldconfig_prints(prefix: str) -> None:
    ours = [tuple(entry) for entry in loader_cache.entries(CACHE.read_bytes(), prefix)]
    assert ours == [entry for entry in _printed() if entry[0].startswith(prefix)]


SPARK = [
    ("libcudart.so.13", "/usr/local/cuda/targets/sbsa-linux/lib/libcudart.so.13", AARCH64),
    ("libcudart.so.12", "/opt/x86/libcudart.so.12", X86_64),
    ("libcudart.so.12", "/opt/i386/libcudart.so.12", I386),
    ("libcuda.so.1", "/usr/lib/aarch64-linux-gnu/libcuda.so.1", AARCH64),
]


@needs_ldconfig
def test_a_cache_of_several_machines_is_read_as_ldconfig_reads_it(tmp_path: Path) -> None:
    # ldconfig prints a cache of any machine: that is the oracle for AArch64 on a machine that is none.
    (tmp_path / "cache").write_bytes(cache(SPARK))
    printed = _printed("-C", str(tmp_path / "cache"))
    assert [row[2] for row in printed] == ["aarch64", "x86_64", "", "aarch64"]
    assert [tuple(entry) for entry in loader_cache.entries(cache(SPARK), "")] == printed


def test_an_old_cache_before_the_new_one_does_not_shift_it() -> None:
    # Before glibc 2.32 both stood in one file; offsets of the new one count from its own header (elf/dl-cache.h).
    old = b"ld.so-1.7.0\0" + struct.pack("<I", 1) + struct.pack("<iII", 3, 0, 13) + b"libcudart.so\0/lib/old\0"
    both = old.ljust((len(old) + 7) // 8 * 8, b"\0") + cache(SPARK)
    assert loader_cache.entries(both, "libcud") == loader_cache.entries(cache(SPARK), "libcud")


def test_a_truncated_cache_gives_what_it_holds() -> None:
    whole = cache(SPARK)
    everything = loader_cache.entries(whole, "")
    assert len(everything) == len(SPARK)
    lengths = []
    for length in range(len(whole)):
        found = loader_cache.entries(whole[:length], "")
        assert set(found) <= set(everything)
        lengths.append(len(found))
    # An entry is lost with its last byte (the NUL after its path), not before.
    assert lengths == sorted(lengths) and lengths[-1] == len(SPARK) - 1


# -- release files ----------------------------------------------------------------------------------------------------

DGX_RELEASE = """\
DGX_NAME="DGX Spark"
DGX_PRETTY_NAME='NVIDIA DGX Spark'
DGX_SWBUILD_VERSION="7.2.3"
DGX_PLATFORM="DGX Server for KVM"
DGX_SERIAL_NUMBER="1984500000000"

DGX_OTA_VERSION="7.3.1"
DGX_OTA_DATE="Fri Oct 31 08:00:00 UTC 2025"
DGX_OTA_VERSION="7.5.0"
EMPTY=
HALF="open
"""


def test_release_files_are_shell_assignments_and_the_last_one_wins(tmp_path: Path) -> None:
    # The oracle is the shell, for which these files are written; it cannot read the unfinished last line.
    path = tmp_path / "release"
    path.write_text(DGX_RELEASE.rsplit("HALF", 1)[0])
    names = ("DGX_NAME", "DGX_PRETTY_NAME", "DGX_PLATFORM", "DGX_OTA_VERSION", "EMPTY")
    script = f'. "{path}"\n' + "\n".join(f'printf "%s\\n" "${name}"' for name in names)
    shell = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    found = keyed.release(DGX_RELEASE)
    assert [found[name] for name in names] == shell
    assert found["DGX_OTA_VERSION"] == "7.5.0"
    assert found["HALF"] == '"open'


@pytest.mark.skipif(not Path("/etc/os-release").exists(), reason="no os-release")
def test_os_release_as_the_standard_library_reads_it() -> None:
    ours, theirs = keyed.release(Path("/etc/os-release").read_text()), platform.freedesktop_os_release()
    assert {name: ours.get(name) for name in theirs if name in ours} == {n: v for n, v in theirs.items() if n in ours}
    assert ours["PRETTY_NAME"] == theirs["PRETTY_NAME"]


# -- /proc ------------------------------------------------------------------------------------------------------------


def test_meminfo_counts_kibibytes_and_leaves_counts_alone() -> None:
    # 127,600,748 kB is a Spark of the 2026 firmware: 121.69 GiB (XuehaiPan/nvitop#208).
    text = "MemTotal:       127600748 kB\nHugePages_Total:  1024\nActive(anon):  12 kB\nDirectMap4k:  x kB\nbroken\n"
    found = keyed.meminfo(text)
    assert found == {"MemTotal": 130_663_165_952, "HugePages_Total": 1024, "Active(anon)": 12_288}
    assert round(found["MemTotal"] / 2**30, 2) == 121.69


@pytest.mark.skipif(shutil.which("free") is None or not Path("/proc/meminfo").exists(), reason="no free(1)")
def test_meminfo_agrees_with_free() -> None:
    text = subprocess.run(["free", "-b"], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()[1:]}
    found = keyed.meminfo(Path("/proc/meminfo").read_text())
    # Only what does not change from one moment to the next.
    assert (found["MemTotal"], found["SwapTotal"]) == (int(rows["Mem:"][0]), int(rows["Swap:"][0]))


def test_pressure_and_vmstat() -> None:
    # The layouts of Documentation/accounting/psi.rst and of /proc/vmstat.
    text = "some avg10=0.00 avg60=100.00 avg300=1.50 total=12\nfull avg10=3.25 avg60=0.10 avg300=0.00 total=3\n"
    assert keyed.pressure(text) == {"some_avg10": 0, "some_avg60": 100, "full_avg10": 3.25, "full_avg60": 0.1}
    assert keyed.vmstat("pswpin 7\npswpout 12\noom_kill 2\nbad\n") == {"pswpin": 7, "pswpout": 12, "oom_kill": 2}


def test_mountinfo_by_the_example_of_its_manual() -> None:
    # proc(5), with and without optional fields; blanks come as octal escapes.
    text = (
        "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
        "37 35 0:9 / /with\\040blank\\134 rw - tmpfs tmp\\011fs rw\n"
        "38 35 0:9 / too short\n\n"
    )
    assert mountinfo(text) == [
        Mount("/mnt1", "/mnt2", "ext3", "/dev/root"),
        Mount("/", "/with blank\\", "tmpfs", "tmp\tfs"),
    ]


@pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_a_newline_ends_a_mount(character: str) -> None:
    # The kernel escapes blank, tab, newline, backslash and # only (fs/proc_namespace.c, mangle).
    point = f"/mnt/a{character}b"
    assert mountinfo(f"36 35 98:0 / {point} rw - ext4 /dev/sda rw\n") == [Mount("/", point, "ext4", "/dev/sda")]


@pytest.mark.skipif(shutil.which("findmnt") is None or not Path("/proc/self/mountinfo").exists(), reason="no findmnt")
def test_mountinfo_agrees_with_findmnt() -> None:
    command = ["findmnt", "--json", "--list", "--output", "TARGET,FSTYPE", "--tab-file", "/proc/self/mountinfo"]
    rows = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["filesystems"]
    ours = [(mount.point, mount.filesystem) for mount in mountinfo(Path("/proc/self/mountinfo").read_text())]
    assert sorted(ours) == sorted((row["target"], row["fstype"]) for row in rows)


# -- Python environments ----------------------------------------------------------------------------------------------

CONSTRAINTS = """\
# numpy==1.0
torch==2.9.0a0+50eac811a6.nv25.09
nvidia-cublas-cu12==12.8.4.1  # a comment
transformers[torch,sentencepiece]==4.56.1 ; python_version >= "3.9"
Flash_Attn @ https://example.org/flash_attn-2.8.3+cu13==1-cp312-linux_aarch64.whl
Jinja2 == 3.1.6
triton===3.5.0
numpy>=1.26
pydantic==2.*
typing.extensions==4.15.0
epoch==1!2.0.post1
"""
#: Lines of pip that are no requirement; https://pip.pypa.io/en/stable/reference/requirements-file-format/
NOT_REQUIREMENTS = """\
-r base.txt
--index-url https://example.org/simple==1
https://example.org/x-1.0-py3-none-any.whl
-e git+https://example.org/x@v1==2#egg=x==3.0

==1.0
"""


def test_constraints_are_the_exact_pins_that_packaging_finds() -> None:
    expected = {}
    for line in CONSTRAINTS.splitlines():
        text = line.partition(" #")[0]
        if not text or text.startswith("#"):
            continue
        requirement = Requirement(text)
        for one in requirement.specifier:
            if one.operator in ("==", "===") and not one.version.endswith(".*"):
                expected[re.sub(r"[-_.]+", "-", requirement.name).lower()] = one.version  # PEP 503
    assert len(expected) == 7
    assert keyed.constraints(CONSTRAINTS + NOT_REQUIREMENTS) == expected


NGC = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.9.0a0+50eac811a6.nv25.09'
debug = False
cuda: Optional[str] = '13.0'
git_version = '50eac811a6f4a7f4ef4e1b0a1c6a1c4e5b5d2b3c'
hip: Optional[str] = None
rocm: Optional[str] = None
xpu: Optional[str] = None
"""
OLD = "__version__ = '1.8.0'\ndebug = False\ncuda = '11.1'\ngit_version = '37c1f4a7fef1'\nhip = None\n"
ROCM = NGC.replace("cuda: Optional[str] = '13.0'", "cuda: Optional[str] = None").replace(
    "hip: Optional[str] = None", 'hip: Optional[str] = "6.4.43482"'
)
UNION = "__version__ = \"2.10.0+cpu\"\ncuda: 'str | None' = None\nhip = None\ngit_version='x'"


@pytest.mark.parametrize("text", [NGC, OLD, ROCM, UNION], ids=["ngc", "old", "rocm", "cpu"])
def test_torch_version_is_what_python_makes_of_the_file(text: str) -> None:
    theirs: dict[str, object] = {}
    exec(text, theirs)
    ours = torch_version.read(text)
    assert (ours["version"], ours["cuda"], ours["hip"]) == (theirs["__version__"], theirs["cuda"], theirs["hip"])
    assert ours["git_version"] == theirs["git_version"]


def test_a_library_name_carries_a_driver_version_or_none() -> None:
    assert keyed.version_in_library_name("/usr/lib/aarch64-linux-gnu/libcuda.so.580.95.05") == "580.95.05"
    assert keyed.version_in_library_name("/usr/lib/libcuda.so.550.54") == "550.54"
    assert keyed.version_in_library_name("/usr/lib/libcuda.so.1") is None
    # Under WSL 2 and on Jetson the file itself is called libcuda.so.1.1: no version of a driver.
    assert keyed.version_in_library_name("/usr/lib/wsl/lib/libcuda.so.1.1") is None
