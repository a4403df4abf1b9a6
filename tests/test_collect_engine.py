"""The container engine from files alone, and the facts of driver and container that forward compatibility needs.

Expected values: docker's, podman's and NVIDIA's own documentation of the files, and the shell on this machine.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_host import host, reason

from gonogo.node.collect import container, driver, engine
from gonogo.node.facts.missing import FAILED, NOT_FOUND, PERMISSION_DENIED, Missing
from gonogo.node.facts.sections.engine import Engine
from gonogo.node.parse import container_engine
from gonogo.node.parse.container_engine import daemon_settings, is_podman_script, names_nvidia_gpu
from gonogo.node.ports import recording
from gonogo.node.ports.files import Files
from gonogo.node.ports.host import Host, live_host
from gonogo.platforms import inventory

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:relative:", "HOME": "/home/ada"}
ELF = b"\x7fELF podman"
DAEMON = '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}, "runc": {"path": "runc"}}}'
#: As nvidia-ctk prints it (NVIDIA/nvidia-container-toolkit#38): keys in alphabetical order, so the kind comes last.
CDI = (
    "---\ncdiVersion: 0.5.0\ncontainerEdits:\n  deviceNodes:\n  - path: /dev/nvidiactl\n"
    + "  - path: /dev/x\n" * 9000
    + "devices:\n- containerEdits: {}\n  name: all\nkind: nvidia.com/gpu\n"
)
SPARK: dict[str, Any] = {
    "/usr/bin/docker": ELF,
    "/usr/bin/nvidia-ctk": ELF,
    "/usr/bin/nvidia-container-runtime-hook": ELF,
    "/etc/docker/daemon.json": DAEMON,
    "/etc/cdi/nvidia.yaml": CDI,
    "/var/lib/docker": None,
}


def made(root: Path, files: dict[str, Any], sockets: tuple[str, ...] = (), **changes: Any) -> Host:
    """A FIFO stands for a socket: neither file nor folder, and its path may be long."""
    root.mkdir(exist_ok=True)
    machine = host(root.resolve(), files, environment=ENVIRONMENT, user=1000)._replace(**changes)
    for path in sockets:
        target = root / path[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(target)
    return machine


def test_a_spark_with_docker(tmp_path: Path) -> None:
    assert engine.collect(made(tmp_path, SPARK, ("/run/docker.sock",))) == Engine(
        docker="/usr/bin/docker",
        podman=Missing(NOT_FOUND),
        docker_is_snap=False,
        docker_socket=True,
        may_use_docker=True,
        image_folder="/var/lib/docker",
        runtimes=("nvidia",),
        default_runtime=Missing(NOT_FOUND),
        cdi_files=("/etc/cdi/nvidia.yaml",),
        toolkit="/usr/bin/nvidia-ctk",
        hook=True,
        podman_hook=False,
    )


def test_a_machine_without_any_engine(tmp_path: Path) -> None:
    facts = engine.collect(made(tmp_path, {}))
    assert {reason(fact) for fact in (*facts[:3], *facts[4:8], facts.toolkit)} == {NOT_FOUND}
    assert (facts.docker_socket, facts.cdi_files, facts.hook, facts.podman_hook) == (False, (), False, False)


def test_the_snap(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        "/usr/bin/snap": ELF,
        "/snap/bin": None,
        "/var/snap/docker/current/config/daemon.json": DAEMON,
        "/var/snap/docker/common/var-lib-docker": None,
    }
    machine = made(tmp_path, files, environment={"PATH": "/usr/bin:/snap/bin"})
    (tmp_path / "snap/bin/docker").symlink_to("../../usr/bin/snap")  # snapd's links are absolute
    facts = engine.collect(machine)
    assert (facts.docker, facts.docker_is_snap, facts.runtimes) == ("/snap/bin/docker", True, ("nvidia",))
    assert facts.image_folder == "/var/snap/docker/common/var-lib-docker"


def test_podman_under_dockers_name(tmp_path: Path) -> None:
    # podman-docker: the script, and /run/docker.sock as a link to podman's own socket.
    script = '#!/usr/bin/sh\n[ -e /etc/containers/nodocker ] || echo "Emulate" >&2\nexec /usr/bin/podman "$@"\n'
    machine = made(tmp_path, {"/usr/bin/docker": script, "/usr/bin/podman": ELF}, ("/run/podman/podman.sock",))
    (tmp_path / "run/docker.sock").symlink_to("podman/podman.sock")
    facts = engine.collect(machine)
    assert reason(facts.docker) == reason(facts.docker_is_snap) == NOT_FOUND
    assert (facts.podman, facts.docker_socket) == ("/usr/bin/podman", False)
    hooked = made(tmp_path, {"/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json": "{}"})
    assert engine.collect(hooked).podman_hook is True


@pytest.mark.parametrize("variable", [{}, {"XDG_RUNTIME_DIR": "/run/user/1000/"}])
def test_rootless_docker(variable: dict[str, str], tmp_path: Path) -> None:
    """docs.docker.com/engine/security/rootless: the socket, the settings and the data of a user's own daemon."""
    files = {"/usr/bin/docker": ELF, "/home/ada/.config/docker/daemon.json": DAEMON, "/home/ada/.config/cdi/g.yml": CDI}
    machine = made(tmp_path, files, ("/run/user/1000/docker.sock",), environment={**ENVIRONMENT, **variable})
    facts = engine.collect(machine)
    assert (facts.docker_socket, facts.may_use_docker, facts.runtimes) == (True, True, ("nvidia",))
    assert facts.cdi_files == ("/home/ada/.config/cdi/g.yml",)


def test_settings_under_sudo_are_the_callers(tmp_path: Path) -> None:
    files = {
        "/usr/bin/docker": ELF,
        "/home/ada/.config/docker/daemon.json": DAEMON,
        "/proc/7/comm": "sudo\n",
        "/proc/7/environ": "HOME=/home/ada\0PATH=/usr/bin\0",
    }
    sudo = {"HOME": "/root", "PATH": "/sbin", "SUDO_UID": "1000", "SUDO_GID": "1000"}
    machine = made(tmp_path, files, ("/run/user/1000/docker.sock",), environment=sudo, user=0, parent=7)
    facts = engine.collect(machine)
    assert (facts.docker, facts.docker_socket, facts.runtimes) == ("/usr/bin/docker", True, ("nvidia",))


def test_a_folder_is_searched_once_and_other_kinds_are_not_counted(tmp_path: Path) -> None:
    files = {
        "/run/cdi/nvidia.json": '{"cdiVersion":"0.6.0","kind":"nvidia.com/gpu","devices":[]}',
        "/run/cdi/readme.txt": CDI,
        "/etc/cdi/net.yaml": "cdiVersion: 0.6.0\nkind: nvidia.com/net\n",
        "/etc/cdi/managed.yaml": "kind: management.nvidia.com/gpu\n",
        "/etc/cdi/comment.yaml": "# kind: nvidia.com/gpu\nkind: vendor.com/gpu\n",
        "/opt/cdi/quoted.yaml": "kind: 'nvidia.com/gpu'\n",
        "/etc/docker/daemon.json": '{"cdi-spec-dirs": ["/opt/cdi", "relative", 7]}',
        "/usr/bin/docker": ELF,
    }
    machine = made(tmp_path, files)
    (tmp_path / "var").mkdir()
    (tmp_path / "var/run").symlink_to("../run")  # as Debian and Fedora have it
    assert engine.collect(machine).cdi_files == ("/var/run/cdi/nvidia.json", "/opt/cdi/quoted.yaml")


def test_what_may_not_be_read_is_not_taken_for_absent(tmp_path: Path) -> None:
    class Denied(Files):
        def read(self, path: str, limit_bytes: int = 1) -> bytes | Missing:
            return Missing(PERMISSION_DENIED) if path.startswith("/etc/") else super().read(path)

        def kind(self, path: str) -> str | Missing:
            return Missing(PERMISSION_DENIED) if path.endswith(".sock") else super().kind(path)

    machine = made(tmp_path, SPARK)
    facts = engine.collect(machine._replace(files=Denied(str(tmp_path.resolve()))))
    denied = (facts.runtimes, facts.default_runtime, facts.cdi_files, facts.docker_socket, facts.may_use_docker)
    assert {reason(fact) for fact in denied} == {PERMISSION_DENIED}
    assert facts.image_folder == "/var/lib/docker"


@pytest.mark.parametrize("text", ["{", "[]", '"x"', b"\x00\xff", "[" * 100_000, '{"runtimes": 9' + "9" * 5000 + "}"])
def test_a_broken_daemon_json(text: str | bytes, tmp_path: Path) -> None:
    facts = engine.collect(made(tmp_path, {**SPARK, "/etc/docker/daemon.json": text}))
    assert reason(facts.runtimes) == FAILED
    assert facts.image_folder == "/var/lib/docker"


def test_settings_of_other_types_count_as_not_set() -> None:
    odd = b'{"runtimes": ["nvidia"], "data-root": 7, "default-runtime": null, "cdi-spec-dirs": "/x"}'
    assert daemon_settings(odd) == daemon_settings(b" \n") == ["", [], "", []]
    runtimes = b'{"io.containerd.runc.v2": {}, "kata": {}}'
    full = b'\xef\xbb\xbf{"default-runtime": "nvidia", "graph": "/g", "runtimes": ' + runtimes + b"}"
    assert daemon_settings(full) == ["/g", ["kata"], "nvidia", []]


@given(st.binary())
@example(b'{"kind": "nvidia.com/gpu"')
def test_no_content_makes_a_parser_raise(content: bytes) -> None:
    assert names_nvidia_gpu(content) in (True, False)
    assert is_podman_script(content) in (True, False)
    settings = daemon_settings(content)
    assert settings is None or isinstance(container_engine.DaemonSettings(*settings), tuple)


def test_a_recording_keeps_no_more_than_the_settings(tmp_path: Path) -> None:
    secret = DAEMON[:-1] + ', "log-opts": {"splunk-token": "00000000-secret"}}'
    into = recording.empty()
    machine = made(tmp_path, {**SPARK, "/etc/docker/daemon.json": secret}, ("/run/docker.sock",))
    facts = engine.collect(recording.recording_host(machine, into))
    assert "secret" not in repr(into) and "/dev/nvidiactl" not in repr(into)
    assert engine.collect(recording.replayed_host(into)) == facts


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a Unix shell is the oracle")
def test_this_machine_agrees_with_the_shell() -> None:
    facts = engine.collect(live_host())
    for name, fact in (("docker", facts.docker), ("podman", facts.podman)):
        path = shutil.which(name)
        assert (fact if isinstance(fact, str) else None) in (path, path and str(Path(path).resolve()), None)
        assert (path is None) <= isinstance(fact, Missing)
    assert facts.hook == bool(shutil.which("nvidia-container-runtime-hook") or shutil.which("nvidia-container-toolkit"))


# -- what forward compatibility needs ---------------------------------------------------------------------------------


def test_the_newest_compatibility_library_is_found(tmp_path: Path) -> None:
    """NGC: compat/lib.real below the toolkit that /usr/local/cuda links to; nvidia/cuda: straight in compat."""
    files = {
        "/usr/local/cuda-13.1/compat/lib.real/libcuda.so.590.48.01": "",
        "/usr/local/cuda-13.1/compat/lib.real/libcudadebugger.so.590.48.01": "",
        "/usr/local/cuda-13.1/compat/lib.real/libcuda.so.1": "",
        "/usr/local/cuda-12.9/compat/libcuda.so.1000.1": "",
        "/usr/local/cuda-12.9/compat/libcuda.so.575.57.08": "",
        "/usr/local/cudalike/compat/libcuda.so.9999.1": "",
    }
    root = tmp_path.resolve()
    machine = host(root, files)
    (root / "usr/local/cuda").symlink_to("cuda-13.1")
    facts = driver.collect(machine)
    assert facts.compatibility_library_version == "1000.1"  # by number, not by letter
    (root / "usr/local/cuda-12.9/compat/libcuda.so.1000.1").unlink()
    facts = driver.collect(machine)
    assert facts.compatibility_library_path == "/usr/local/cuda-13.1/compat/lib.real/libcuda.so.590.48.01"
    assert facts.compatibility_library_version == "590.48.01"
    empty = driver.collect(host(tmp_path / "empty"))
    assert reason(empty.compatibility_library_path) == reason(empty.compatibility_library_version) == NOT_FOUND


def test_under_sudo_the_callers_libcuda_is_found(tmp_path: Path) -> None:
    files = {
        "/compat/libcuda.so.590.48.01": "",
        "/usr/lib/libcuda.so.1": "",
        "/proc/7/comm": "sudo\n",
        "/proc/7/environ": "LD_LIBRARY_PATH=/compat\0",
    }
    machine = host(tmp_path.resolve(), files, environment={"SUDO_UID": "1000", "SUDO_GID": "1000"}, user=0, parent=7)
    (tmp_path / "compat/libcuda.so.1").symlink_to("libcuda.so.590.48.01")
    assert driver.collect(machine).libcuda_version == "590.48.01"
    assert driver.collect(machine._replace(environment={})).libcuda_path == "/usr/lib/libcuda.so.1"


def test_an_image_names_what_it_was_built_for(tmp_path: Path) -> None:
    """Variables of nvcr.io/nvidia/vllm:26.05 and nvidia/cuda:13.0.2, as public dumps of them have it."""
    environment = {
        "CUDA_VERSION": "13.2.1",
        "CUDA_DRIVER_VERSION": "595.58.03",
        "_CUDA_COMPAT_STATUS": "CUDA Driver OK",
        "NVIDIA_REQUIRE_CUDA": "cuda>=9.0",
        "NVIDIA_VLLM_VERSION": "26.05.post1",
        "VLLM_API_KEY": "secret",
    }
    facts = container.collect(host(tmp_path, environment=environment))
    assert facts.environment == {name: value for name, value in environment.items() if name != "VLLM_API_KEY"}
    assert inventory.versions({"container": facts})["image:vllm"] == "26.05.post1"
