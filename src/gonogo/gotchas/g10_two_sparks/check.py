"""G10 from the launch environment and the fabric: what a run over two Sparks would find on this one."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.finding import INFO, SKIP, UNKNOWN, WARN, Finding
from gonogo.gotchas.g10_two_sparks import fabric
from gonogo.gotchas.g10_two_sparks.nodes import nodes_of, shown, variables_of
from gonogo.node.facts.missing import NOT_COLLECTED, NOT_FOUND, UNCOLLECTED, Missing, known
from gonogo.node.facts.sections.container import Container
from gonogo.node.facts.sections.gpu import Gpu
from gonogo.node.facts.sections.launch import Launch
from gonogo.node.facts.sections.network import Interface, Network
from gonogo.platforms.containment import weigh
from gonogo.platforms.identify import Platform

_MEASURED = "two Sparks measure 19-21 GB/s busbw with 1500, 22-24 with 9000 at both ends"


def check_environment(
    launch: Launch, network: Network | Missing, gpu: Gpu | Missing, platform: Platform
) -> Iterator[Finding]:
    """One line: ranks, local GPUs, fabric functions."""
    nodes, link = nodes_of(launch, gpu, platform), _fabric_words(network, platform)
    here = f"{nodes.text}; {link}" if link else nodes.text
    functions = fabric.functions_of(_own(network, platform)) if platform.is_spark else ()
    evidence = tuple(fabric.link_line(function) for function in functions)
    if nodes.unreadable is not None:
        text = f"WORLD_SIZE is {nodes.unreadable}, which is no number of ranks: torch.distributed cannot start; {here}"
        yield Finding("G10.world-size", INFO, text, evidence, key="WORLD_SIZE", value=nodes.unreadable)
    elif nodes.told or _fabric_in_use(network, platform):
        yield Finding("G10.environment", INFO, here, evidence)
    else:
        text = "one node, no launch configuration judged"
        yield Finding("G10.skipped", SKIP, f"{text}; {link}" if link else text)


def check_fabric(network: Network | Missing, platform: Platform) -> Iterator[Finding]:
    """The functions of a cabled cage. Below 200 Gb/s it is an ordinary network card, without a link an idle one."""
    network = _own(network, platform)
    if not platform.is_spark:
        return
    if isinstance(network, Missing):
        if network.reason != NOT_COLLECTED:
            yield Finding("G10.unknown", UNKNOWN, f"the fabric was not read: {network}")
        return
    carrying = tuple(filter(fabric.carries, fabric.functions_of(network)))
    for cage in fabric.cages(fabric.functions_of(network)):
        yield from _one_function_down(cage)
    yield from _small_mtu(carrying)
    yield from _subnets(carrying)
    for function in filter(fabric.on_narrow_pci, carrying):
        text = f"{function.name} runs at PCIe {fabric.pci_words(function)}, Gen5 x4 is normal: it carries less"
        yield Finding("G10.narrow-pcie", INFO, text, (fabric.link_line(function),))


def _one_function_down(cage: tuple[Interface, ...]) -> Iterator[Finding]:
    up = [function for function in cage if fabric.carries(function)]
    for down in (function for function in cage if known(function.link_up) is False):
        if up:
            text = f"{down.name} is down while {up[0].name} of the same cage is up: about half of the link is missing"
            evidence = tuple(fabric.link_line(function) for function in cage)
            yield Finding("G10.one-function-down", WARN, text, evidence, values={"down": down.name})


def _small_mtu(carrying: tuple[Interface, ...]) -> Iterator[Finding]:
    small = [(function.name, mtu) for function in carrying for mtu in [known(function.mtu_bytes)] if mtu]
    small = [(name, mtu) for name, mtu in small if mtu < fabric.JUMBO_MTU_BYTES]
    if small:
        sizes = "/".join(str(mtu) for mtu in sorted({mtu for _, mtu in small}))
        yield Finding(
            "G10.small-mtu",
            WARN,
            f"MTU {sizes} on {' and '.join(name for name, _ in small)}: {_MEASURED}",
            evidence=tuple(fabric.link_line(function) for function in carrying),
            values={
                "raise_mtu": "; ".join(f"sudo ip link set dev {name} mtu 9000" for name, _ in small),
                "reset_mtu": "; ".join(f"sudo ip link set dev {name} mtu {mtu}" for name, mtu in small),
            },
        )


def _subnets(carrying: tuple[Interface, ...]) -> Iterator[Finding]:
    names = {function.name for function in carrying}
    bonds = sorted({bond for function in carrying for bond in [known(function.bond)] if bond})
    shared = sorted(f.name for f in carrying if names & set(known(f.same_subnet_as) or ()))
    if bonds:
        text = f"fabric functions are bonded in {shown(', '.join(bonds))}: unsupported, each wants a subnet of its own"
        yield Finding("G10.bonded", INFO, text)
    if shared:
        text = f"{' and '.join(shared)} share one subnet: each wants its own, or traffic leaves by the wrong one"
        yield Finding("G10.one-subnet", INFO, text)


def check_variables(
    launch: Launch, network: Network | Missing, gpu: Gpu | Missing, platform: Platform
) -> Iterator[Finding]:
    """NCCL's variables that do not fit a Spark. Elsewhere they are the site's own affair."""
    if not platform.is_spark:
        return
    variables = {name: value for name, value in variables_of(launch).items() if name.startswith("NCCL_")}
    if variables:
        from gonogo.gotchas.g10_two_sparks import settings  # few shells set any

        pair = _fabric_in_use(network, platform) or nodes_of(launch, gpu, platform).several
        yield from settings.judged(variables, _own(network, platform), pair)


def check_container(
    container: Container | Missing,
    launch: Launch | Missing,
    network: Network | Missing,
    gpu: Gpu | Missing,
    platform: Platform,
) -> Iterator[Finding]:
    """What a container needs for RDMA between nodes: the host's network, its device nodes, memory it may lock."""
    network = _own(network, platform)
    if not platform.is_spark or isinstance(network, Missing) or not weigh(container).inside:
        return
    several = nodes_of(launch, gpu, platform).several
    lacking = []
    if known(network.rdma_device_nodes) is False:
        lacking.append("--device /dev/infiniband")
    if known(network.interfaces) is not None and not fabric.functions_of(network):
        lacking.append("--network host")
    if several and lacking:
        text = f"this container lacks {' and '.join(lacking)}: NCCL would use TCP between the nodes and not say so"
        yield Finding("G10.container-without-fabric", INFO, text, values={"options": " ".join(lacking)})
    limit = known(network.locked_memory_limit_bytes)
    if limit is not None and known(network.rdma_device_nodes) and (several or _fabric_in_use(network, platform)):
        text = (
            f"this container may lock {limit / (1 << 20):.0f} MiB of memory: RDMA may need more, ibv_reg_mr then fails"
        )
        yield Finding("G10.memlock", INFO, text, (f"Max locked memory {limit} bytes",))


# -- what is there ----------------------------------------------------------------------------------------------------


def _own(network: Network | Missing, platform: Platform) -> Network | Missing:
    """The fabric of the machine that is judged; with --platform this machine's says nothing of it."""
    return UNCOLLECTED if platform.assumed else network


def _fabric_in_use(network: Network | Missing, platform: Platform) -> bool:
    """A Spark with a link at the speed of a pair; inside a container only the RDMA device may tell."""
    own = _own(network, platform)
    return platform.is_spark and (any(map(fabric.carries, fabric.functions_of(own))) or bool(fabric.usable_rdma(own)))


def _fabric_words(network: Network | Missing, platform: Platform) -> str:
    """ "2 of 4 fabric functions up, MTU 9000"; on other machines the RDMA devices, if there are any."""
    own = _own(network, platform)
    if not platform.is_spark:
        devices = fabric.rdma_of(own)
        active = sum(known(device.state) == "ACTIVE" for device in devices)
        return f"{active} of {len(devices)} RDMA devices active" if devices else ""
    if isinstance(own, Missing) or isinstance(own.interfaces, Missing):
        absent = isinstance(own, Missing) and own.reason in (NOT_COLLECTED, NOT_FOUND)
        return "" if absent else "fabric not read"
    functions = fabric.functions_of(own)
    up = [function for function in functions if known(function.link_up)]
    if not up:
        return f"none of {len(functions)} fabric functions up" if functions else "no fabric function seen"
    slow = sorted({speed for f in up for speed in [known(f.speed_megabit_per_s)] if speed and not fabric.carries(f)})
    sizes = sorted({mtu for f in up for mtu in [known(f.mtu_bytes)] if mtu})
    words = f"{len(up)} of {len(functions)} fabric functions up"
    words += f" at {'/'.join(f'{speed // 1000}' for speed in slow)} Gb/s" if slow else ""
    return words + (f", MTU {'/'.join(map(str, sizes))}" if sizes else "")
