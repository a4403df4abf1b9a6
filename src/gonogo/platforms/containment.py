"""Is this a container? The weighing of evidence that the container facts hold."""

from __future__ import annotations

import re
from typing import NamedTuple

from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.container import Container

_RUNTIMES = re.compile(r"docker|containerd|kubepods|libpod|crio|lxc|garden|ecs|machine\.slice/machine-")
#: Filesystems of whole disks; a container's root is an overlay or a part of such a disk.
_DISK_FILESYSTEMS = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs")
_SET_INSIDE = ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "ENROOT_ROOTFS", "KUBERNETES_SERVICE_HOST")


class Containment(NamedTuple):
    """``signs`` speak for a container, most trusted first; ``against`` is what contradicts them, or empty.

    ``inside`` is None where signs and contradiction stand against each other, or where nothing was found: the absence
    of a marker proves no bare host.
    """

    inside: bool | None
    signs: tuple[str, ...]
    against: str = ""


def weigh(container: Container | Missing) -> Containment:
    """Marker files, PID 1's control group, the runtime's variables, the mounts; a stray marker is not enough."""
    if isinstance(container, Missing):
        return Containment(None, ())
    signs, against = _signs(container), _whole_disk(container)
    if not signs:
        return Containment(None, ())
    if against and not _running_runtime(container):
        return Containment(None, signs, against)
    return Containment(True, signs)


def _signs(container: Container) -> tuple[str, ...]:
    found = [f"marker {path}" for path in known(container.markers) or ()]
    runtime = _RUNTIMES.search(known(container.cgroup) or "")
    if runtime:
        found.append(f"/proc/1/cgroup names {runtime.group(0)}")
    variables = known(container.environment) or {}
    if variables.get("container"):
        found.append(f"container={variables['container']}")
    found += [f"{name} is set" for name in _SET_INSIDE if name in variables]
    overlay = known(container.root_filesystem) in ("overlay", "fuse-overlayfs")
    injected = known(container.bind_mounts)
    if overlay and injected:
        found.append("the root is an overlay with mounted /etc files")
    return tuple(found)


def _running_runtime(container: Container) -> bool:
    """Evidence that a stray file on a disk cannot give."""
    in_cgroup = _RUNTIMES.search(known(container.cgroup) or "")
    return bool(in_cgroup) or bool((known(container.environment) or {}).get("container"))


def _whole_disk(container: Container) -> str:
    """What speaks for a machine of its own: a whole disk as root, and none of the files that a runtime mounts."""
    filesystem, source = known(container.root_filesystem), known(container.root_source) or ""
    whole = known(container.root_subtree) == "/"
    injected = known(container.bind_mounts)
    if (
        filesystem in _DISK_FILESYSTEMS
        and source.startswith("/dev/")
        and whole
        and injected is not None
        and not injected
    ):
        return f"the root is the whole disk {source} ({filesystem}) and no container mounts exist"
    return ""
