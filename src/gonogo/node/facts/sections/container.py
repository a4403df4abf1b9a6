"""Evidence for and against being inside a container; the weighing is done elsewhere."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gonogo.node.facts.missing import UNCOLLECTED, Missing


class Container(NamedTuple):
    """Marker files, PID 1's control group, the root mount and the runtime's variables, as read."""

    markers: tuple[str, ...] | Missing = UNCOLLECTED
    cgroup: str | Missing = UNCOLLECTED  # /proc/1/cgroup, cut to 2000 characters
    root_filesystem: str | Missing = UNCOLLECTED  # type: overlay, ext4, ...
    root_source: str | Missing = UNCOLLECTED  # device or overlay name
    root_subtree: str | Missing = UNCOLLECTED  # the part of that filesystem that is /
    bind_mounts: tuple[str, ...] | Missing = UNCOLLECTED  # of /etc/hosts, /etc/hostname, /etc/resolv.conf
    environment: Mapping[str, str] | Missing = UNCOLLECTED  # whitelisted variables of runtimes
