"""Evidence for and against being inside a container; the weighing is done elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Tuple, Union

from gonogo.node.facts.missing import UNCOLLECTED, Missing


@dataclass(frozen=True)
class Container:
    """Marker files, PID 1's control group, the root mount and the runtime's variables, as read."""

    markers: Union[Tuple[str, ...], Missing] = UNCOLLECTED
    cgroup: Union[str, Missing] = UNCOLLECTED  # /proc/1/cgroup, cut to 2000 characters
    root_filesystem: Union[str, Missing] = UNCOLLECTED  # type: overlay, ext4, ...
    root_source: Union[str, Missing] = UNCOLLECTED  # device or overlay name
    root_subtree: Union[str, Missing] = UNCOLLECTED  # the part of that filesystem that is /
    bind_mounts: Union[Tuple[str, ...], Missing] = UNCOLLECTED  # of /etc/hosts, /etc/hostname, /etc/resolv.conf
    environment: Union[Mapping[str, str], Missing] = UNCOLLECTED  # whitelisted variables of runtimes
