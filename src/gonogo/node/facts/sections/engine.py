"""The container engine: docker or podman, who may use it, and whether it can pass a GPU in."""

from __future__ import annotations

from typing import NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Engine(NamedTuple):
    """From programs on PATH and configuration files; the engine itself is not asked."""

    docker: str | Missing = UNCOLLECTED  # the program, links followed
    podman: str | Missing = UNCOLLECTED
    docker_is_snap: bool | Missing = UNCOLLECTED
    docker_socket: bool | Missing = UNCOLLECTED  # a socket exists: the daemon is set up
    may_use_docker: bool | Missing = UNCOLLECTED  # this user may write to the socket
    image_folder: str | Missing = UNCOLLECTED  # data-root
    runtimes: tuple[str, ...] | Missing = UNCOLLECTED  # registered in daemon.json, besides the built-in ones
    default_runtime: str | Missing = UNCOLLECTED
    cdi_files: tuple[str, ...] | Missing = UNCOLLECTED  # specifications of nvidia.com/gpu
    toolkit: str | Missing = UNCOLLECTED  # nvidia-container-runtime, nvidia-ctk or the hook, on PATH
    hook: bool | Missing = (
        UNCOLLECTED  # nvidia-container-runtime-hook, which docker --gpus uses without any registration
    )
    podman_hook: bool | Missing = UNCOLLECTED  # an OCI hook of NVIDIA's, which podman uses without CDI
