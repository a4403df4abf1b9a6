"""Launch: the variables of launchers, CUDA, NCCL and engines that a run started from here would inherit."""

from __future__ import annotations

from gonogo.node import caller, launch_variables
from gonogo.node.facts.sections.launch import Launch
from gonogo.node.ports.host import Host

#: No shell sets more; a hostile environment does not fill the facts.
LIMIT_VARIABLES = 256


def collect(host: Host) -> Launch:
    """Under sudo the variables of the user who called it. Only relevant ones are looked up: a record has no others."""
    environment = caller.of(host).environment
    names = sorted(name for name in environment if launch_variables.relevant(name))[:LIMIT_VARIABLES]
    return Launch(variables={name: launch_variables.kept(name, environment[name]) for name in names})
