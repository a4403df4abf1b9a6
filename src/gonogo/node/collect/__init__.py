"""Collectors: one source of facts, one file. ``collect(host)`` reads through the host's ports and returns its section.

A collector never judges. It may take two seconds and shares a process with the others, which it must not crash or
hang; one that can needs a line in OWN_CHILD, one that is slow by nature or may ask the network a line in ON_REQUEST.
"""

from __future__ import annotations

from gonogo.node.modules import submodules

LIMIT_SECONDS = 2.0

#: Collectors that run in a child of their own, beside the rest, with their own time limit in seconds. Here and not in
#: their files, so that the children can be started before anything is imported.
OWN_CHILD = {
    "gpu": 2.0,  # NVML can hang and crash; so can nvidia-smi
    "processes": 2.0,  # /proc/PID/cmdline waits for a process that is stuck in the kernel with its memory locked
    "python": 7.0,  # runs the user's interpreter, which has 5 s
}

#: Collectors that run only when the user asks for them (--thorough), in a child of their own too, with their limits.
ON_REQUEST = {
    "updates": 45.0,  # the vendor's update check and fwupdmgr, over the network
}


def names() -> list[str]:
    """The collectors of this package: every module in it."""
    return submodules(__path__)
