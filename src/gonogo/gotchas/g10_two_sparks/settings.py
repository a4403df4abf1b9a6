"""NCCL's settings in the launch environment, against what a Spark and its fabric have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gonogo.finding import HIGH, INFO, MEDIUM, WARN, Finding
from gonogo.gotchas.g10_two_sparks import fabric, nccl
from gonogo.gotchas.g10_two_sparks.nodes import shown
from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.network import Interface, Network
from gonogo.node.launch_variables import LIMIT_CHARACTERS


def judged(variables: Mapping[str, str], network: Network | Missing, pair: bool) -> Iterator[Finding]:
    """``pair``: several nodes are launched, or a link at the speed of a pair is up."""
    off = nccl.rdma_disabled(variables)
    if off and pair:  # on one node alone nothing goes over the network
        said = " and ".join(f"{name}={shown(variables[name])}" for name in off)
        text = f"{said}: RDMA is off, NCCL goes over TCP at about a quarter of the throughput"
        first = shown(variables[off[0]])
        yield Finding("G10.rdma-off", WARN, text, (said,), values={"names": " ".join(off)}, key=off[0], value=first)
    level = variables.get("NCCL_NET_GDR_LEVEL", "")
    if nccl.direct_rdma_wanted(level):
        said = f"NCCL_NET_GDR_LEVEL={shown(level)}"
        text = f"{said} asks for GPUDirect RDMA, which does not exist on this machine: leave it unset or 0"
        yield Finding("G10.gdr-level", WARN, text, (said,), key="NCCL_NET_GDR_LEVEL", value=shown(level))
    index = variables.get("NCCL_IB_GID_INDEX", "").strip()
    if index and nccl.integer(index) >= 0:
        text = f"NCCL_IB_GID_INDEX={shown(index)} is fixed: the index differs by host and changes with addresses"
        yield Finding("G10.fixed-gid-index", INFO, text, key="NCCL_IB_GID_INDEX", value=shown(index))
    if variables.get("NCCL_IB_HCA"):
        yield from _hca(variables["NCCL_IB_HCA"], network)


def _hca(value: str, network: Network | Missing) -> Iterator[Finding]:
    """The list against the RDMA devices that are there: names of interfaces, of dead ports, one function of two."""
    wanted = nccl.hca_list(value, cut=len(value) >= LIMIT_CHARACTERS)
    devices, usable = fabric.rdma_of(network), fabric.usable_rdma(network)
    interfaces = () if isinstance(network, Missing) else known(network.interfaces) or ()
    names = {interface.name for interface in interfaces}
    said = f"NCCL_IB_HCA={shown(value)}"
    mistaken = [
        entry[0]
        for entry in wanted.entries
        if not any(wanted.names((entry[0], None), device.name) for device in devices)
        and (entry[0] in names or nccl.looks_like_interface(entry[0]))
    ]
    meant = {f.name for cage in fabric.cages(fabric.functions_of(network)) for f in cage if _any_named(cage, mistaken)}
    right = [device.name for device in usable] or [d.name for d in devices if known(d.interface) in meant]
    values = {"hca": ",".join(right)} if right else {}
    evidence = (said, f"RDMA devices: {', '.join(device.name for device in devices) or 'none was read'}")
    code = text = ""
    if mistaken and not wanted.excludes:
        code = "G10.interface-name"
        text = f"{said} names network interfaces ({', '.join(map(shown, mistaken))}), not RDMA devices"
        text += ": NCCL falls back to TCP and does not say so"
    elif usable and not any(wanted.selects(device.name) for device in usable):
        code = "G10.hca-not-active"
        text = f"{said} selects no RDMA device with a link ({values['hca']} has one): NCCL falls back to TCP"
    elif usable:
        left_out = _second_functions(wanted, network)
        if left_out:
            code = "G10.hca-one-function"
            text = f"{said} leaves out {', '.join(left_out)}, the cage's other function: about half of the link"
    if code:
        seen = not isinstance(network, Missing) and not isinstance(network.rdma_devices, Missing)
        confidence = HIGH if seen or set(mistaken) & names else MEDIUM
        yield Finding(code, WARN, text, evidence, confidence, values=values, key="NCCL_IB_HCA", value=shown(value))


def _any_named(cage: tuple[Interface, ...], names: list[str]) -> bool:
    return any(function.name in names for function in cage)


def _second_functions(wanted: nccl.HcaList, network: Network | Missing) -> list[str]:
    """Usable RDMA devices that are not selected although another one of their cage is."""
    usable = fabric.usable_rdma(network)
    left_out = []
    for cage in fabric.cages(fabric.functions_of(network)):
        own = [d for d in usable if known(d.interface) in {function.name for function in cage}]
        chosen = [wanted.selects(device.name) for device in own]
        if any(chosen):
            left_out += [device.name for device, taken in zip(own, chosen, strict=True) if not taken]
    return left_out
