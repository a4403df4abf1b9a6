"""Container engine: programs on PATH, docker's configuration and socket, CDI specifications. Nothing is asked."""

from __future__ import annotations

from typing import Iterable, Mapping

from gonogo.node import caller
from gonogo.node.facts.missing import FAILED, NOT_FOUND, Missing
from gonogo.node.facts.sections.engine import Engine
from gonogo.node.parse import container_engine
from gonogo.node.parse.container_engine import DaemonSettings
from gonogo.node.ports.host import Host

DATA_ROOT, SNAP_DATA_ROOT = "/var/lib/docker", "/var/snap/docker/common/var-lib-docker"
SETTINGS, SNAP_SETTINGS = "/etc/docker/daemon.json", "/var/snap/docker/current/config/daemon.json"
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi", "/run/cdi")
SOCKETS = ("/var/run/docker.sock", "/run/docker.sock")
#: Where podman's OCI hooks lie; the toolkit's file there passes GPUs in without CDI.
HOOK_FOLDERS = ("/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d")
#: The toolkit's programs; the hook's older name is the last.
TOOLKIT = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-container-toolkit")
HOOK = TOOLKIT[2:]
SCRIPT_BYTES = 4096


def collect(host: Host) -> Engine:
    """What the calling user has: docker may be theirs alone (rootless), and sudo takes PATH away."""
    who = caller.of(host)
    environment = who.environment
    user = who.user_and_group[0] if who.user_and_group else host.user
    docker, snap = _docker(host, environment)
    podman = _on_path(host, environment, ("podman",))
    socket, allowed = _socket(host, _session_folder(environment, user))
    settings: DaemonSettings | Missing = Missing(NOT_FOUND)
    root: str | Missing = Missing(NOT_FOUND)
    if not isinstance(docker, Missing):
        settings = daemon_settings(host, environment)
        root = image_folder(host, environment, settings)
    default = "" if isinstance(settings, Missing) else settings.default_runtime
    return Engine(
        docker=docker,
        podman=podman,
        docker_is_snap=docker if isinstance(docker, Missing) else snap,
        docker_socket=socket,
        may_use_docker=allowed,
        image_folder=root,
        runtimes=settings if isinstance(settings, Missing) else settings.runtimes,
        default_runtime=default or (settings if isinstance(settings, Missing) else Missing(NOT_FOUND)),
        cdi_files=_cdi_files(host, environment, user, settings),
        toolkit=_on_path(host, environment, TOOLKIT, "/usr/bin"),
        hook=not isinstance(_on_path(host, environment, HOOK, "/usr/bin"), Missing),
        podman_hook=_podman_hook(host),
    )


# -- programs ---------------------------------------------------------------------------------------------------------


def _on_path(host: Host, environment: Mapping[str, str], names: Iterable[str], *more: str) -> str | Missing:
    """The first program of these names on PATH or in the folders ``more``, links followed."""
    folders = [folder.rstrip("/") for folder in environment.get("PATH", "").split(":") if folder.startswith("/")]
    for name in names:
        for folder in (*folders, *more):
            if host.files.kind(f"{folder}/{name}") == "file":
                return host.files.resolve(f"{folder}/{name}")
    return Missing(NOT_FOUND)


def _docker(host: Host, environment: Mapping[str, str]) -> tuple[str | Missing, bool]:
    """The program, and whether it is the snap: its link leads to the launcher that all snaps share."""
    for folder in environment.get("PATH", "").split(":"):
        path = f"{folder.rstrip('/')}/docker"
        if not folder.startswith("/") or host.files.kind(path) != "file":
            continue
        real = host.files.resolve(path)
        if real == "/usr/bin/snap" or path.startswith(("/snap/", "/var/lib/snapd/snap/")):
            return path, True
        if not isinstance(real, Missing):
            if host.files.reduced(real, container_engine.is_podman_script, SCRIPT_BYTES) is True:
                return Missing(NOT_FOUND, "podman under docker's name"), False
            return real, real.startswith("/snap/")
    return Missing(NOT_FOUND), False


def _podman_hook(host: Host) -> bool:
    listed = [host.files.names(folder) for folder in HOOK_FOLDERS]
    names = [name for found in listed if not isinstance(found, Missing) for name in found]
    return any("nvidia" in name and name.endswith(".json") for name in names)


# -- docker's socket and settings -------------------------------------------------------------------------------------


def _session_folder(environment: Mapping[str, str], user: int) -> str:
    """Where a user's own services have their sockets; sudo takes the variable away."""
    return _absolute(environment.get("XDG_RUNTIME_DIR")) or f"/run/user/{user}"


def _config_folder(environment: Mapping[str, str]) -> str:
    home = _absolute(environment.get("HOME"))
    return _absolute(environment.get("XDG_CONFIG_HOME")) or (f"{home}/.config" if home else "")


def _absolute(path: str | None) -> str:
    """``path`` without a slash at its end; empty for a relative one, which the XDG rules leave out of account."""
    return path.rstrip("/") if path and path.startswith("/") else ""


def _socket(host: Host, session: str) -> tuple[bool | Missing, bool | Missing]:
    """Whether docker listens here, and whether this user may write to it."""
    denied: Missing | None = None
    found: list[str] = []
    for path in (*SOCKETS, f"{session}/docker.sock"):
        kind = host.files.kind(path)
        if isinstance(kind, Missing) and kind.reason != NOT_FOUND:
            denied = denied or kind
        elif kind == "other" and not str(host.files.resolve(path)).endswith("podman.sock"):
            found.append(path)
    if not found:
        return denied or False, denied or Missing(NOT_FOUND)
    return True, any(host.files.writable(path) is True for path in found)


def daemon_settings(host: Host, environment: Mapping[str, str]) -> DaemonSettings | Missing:
    """The system's, the snap's and the user's own (rootless), taken together; docker's defaults where none is found."""
    own = _config_folder(environment)
    found: list[DaemonSettings] = []
    unread: Missing | None = None
    for path in (SETTINGS, SNAP_SETTINGS, *([f"{own}/docker/daemon.json"] if own else [])):
        read = host.files.reduced(path, container_engine.daemon_settings)
        if isinstance(read, Missing):
            unread = unread if read.reason == NOT_FOUND else read
        elif read is None:
            unread = Missing(FAILED, f"{path} is malformed")
        else:
            found.append(DaemonSettings(read[0], tuple(read[1]), read[2], tuple(read[3])))
    if not found:
        return unread or DaemonSettings()
    return DaemonSettings(
        next((settings.data_root for settings in found if settings.data_root), ""),
        tuple(dict.fromkeys(name for settings in found for name in settings.runtimes)),
        next((settings.default_runtime for settings in found if settings.default_runtime), ""),
        tuple(dict.fromkeys(folder for settings in found for folder in settings.cdi_folders)),
    )


def image_folder(host: Host, environment: Mapping[str, str], settings: DaemonSettings | Missing) -> str:
    """Docker's data-root: as set, else the first default that exists, else the usual one."""
    if not isinstance(settings, Missing) and settings.data_root.startswith("/"):
        return settings.data_root
    home = _absolute(environment.get("HOME"))
    defaults = (DATA_ROOT, SNAP_DATA_ROOT, *([f"{home}/.local/share/docker"] if home else []))
    return next((path for path in defaults if host.files.kind(path) == "folder"), DATA_ROOT)


# -- CDI --------------------------------------------------------------------------------------------------------------


def _cdi_files(
    host: Host, environment: Mapping[str, str], user: int, settings: DaemonSettings | Missing
) -> tuple[str, ...] | Missing:
    """Specifications of nvidia.com/gpu, each folder once. Missing where none was found and not all could be read."""
    own = _config_folder(environment)
    folders = [*CDI_FOLDERS, *([f"{own}/cdi"] if own else []), f"{_session_folder(environment, user)}/cdi"]
    folders += [] if isinstance(settings, Missing) else [path for path in settings.cdi_folders if _absolute(path)]
    found, seen, unread = [], set(), None
    for folder in folders:
        names, real = host.files.names(folder), host.files.resolve(folder)
        if isinstance(names, Missing):
            unread = unread if names.reason == NOT_FOUND else names
            continue
        if real in seen:
            continue
        seen.add(real)
        for name in names:
            if not name.endswith((".yaml", ".yml", ".json")):
                continue
            answer = host.files.reduced(f"{folder}/{name}", container_engine.names_nvidia_gpu)
            if answer is True:
                found.append(f"{folder}/{name}")
            elif isinstance(answer, Missing) and answer.reason != NOT_FOUND:
                unread = answer
    return tuple(found) if found or unread is None else unread
