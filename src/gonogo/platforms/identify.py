"""Which platform a machine is, by evidence in order of trust."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.gpu import Gpu, GpuDevice, devices_of
from gonogo.node.facts.sections.identity import Identity
from gonogo.platforms.profile import Profile

GENERIC = Profile(id="generic", title="an NVIDIA GPU without a profile")
NONE = Profile(id="none", title="no NVIDIA GPU")
SPARK = "gb10"
#: GB10's sibling: the same capability and one pool of memory, and NVML names a wrong total for it (8128 MiB).
N1X = Profile(id="generic", title="NVIDIA RTX Spark N1X", compute_capability="12.1", memory="unified")
N1X_PCI_IDS = ("10de:2e03", "10de:2e06")


class Platform(NamedTuple):
    """The profile that judges go by. ``evidence`` says how it is known; empty for one that the user named.

    ``assumed``: named by --platform and not what the machine is, so its live GPU readings say nothing.
    ``gpu_expected``: an NVIDIA GPU is there or must be, so silence is UNKNOWN and not SKIP.
    ``identity_known``: False where the machine could not be told either way.
    """

    profile: Profile
    evidence: tuple[str, ...] = ()
    assumed: bool = False
    gpu_expected: bool = False
    identity_known: bool = True

    @property
    def id(self) -> str:
        """The platform's id: gb10, h200, ..., generic, none."""
        return self.profile.id

    @property
    def is_spark(self) -> bool:
        """A DGX Spark or one of its OEM twins."""
        return self.profile.is_spark

    @property
    def unified_memory(self) -> bool:
        """CPU and GPU share one pool."""
        return self.profile.memory == "unified"


def assume(profile: Profile, actual: Platform) -> Platform:
    """The platform the user named; nothing is assumed where the machine is just that."""
    if profile.id == actual.id:
        return actual
    return Platform(profile, ("named by --platform",), assumed=True, gpu_expected=False)


def identify(
    identity: Identity | Missing, gpu: Gpu | Missing, profiles: Mapping[str, Profile], in_container: bool
) -> Platform:
    """The platform of these facts. A name alone decides nothing where a PCI id or a capability contradicts it."""
    devices = devices_of(gpu)
    by_files = _spark_by_files(identity)
    pci_ids = _pci_ids(identity, devices)
    for profile in profiles.values():
        hits = [pci for pci in pci_ids if pci in profile.pci_ids]
        if hits:
            evidence = (f"PCI id {hits[0]}", *(by_files if profile.is_spark else ()))
            return Platform(profile, evidence, gpu_expected=True)
    sibling = [pci for pci in pci_ids if pci in N1X_PCI_IDS]
    if sibling:
        return Platform(N1X, (f"PCI id {sibling[0]}",), gpu_expected=True)
    if by_files and SPARK in profiles:
        return Platform(profiles[SPARK], by_files, gpu_expected=True)
    # Capability 12.1 is GB10's and its sibling N1X's: where something else names the machine, it does not decide.
    capability_decides = not pci_ids and not _named_otherwise(identity)
    for device in devices:
        match = _by_capability(device, profiles.values(), capability_decides)
        if match:
            return match
    if devices or pci_ids:
        names = [name for device in devices for name in [known(device.name)] if name]
        seen = [f"GPU {name}" for name in names] or [f"PCI id {pci}" for pci in pci_ids] or ["a GPU without a name"]
        return Platform(GENERIC, (seen[0],), gpu_expected=True)
    if not isinstance(gpu, Missing):  # the driver's library is there and does not answer
        return Platform(
            GENERIC,
            (f"{'the NVIDIA driver library' if gpu.source == 'nvml' else 'nvidia-smi'} is installed",),
            gpu_expected=True,
        )
    looked = not isinstance(identity, Missing) and not isinstance(identity.nvidia_pci_devices, Missing)
    return Platform(NONE, identity_known=looked and not in_container)


def _pci_ids(identity: Identity | Missing, devices: Iterable[GpuDevice]) -> list[str]:
    found = [] if isinstance(identity, Missing) else list(known(identity.nvidia_pci_devices) or ())
    ids = [f"{d.vendor_id}:{d.device_id}" for d in found if d.class_code.startswith("03")]
    return ids + [pci for device in devices for pci in [known(device.pci_device_id)] if pci and pci not in ids]


def _spark_by_files(identity: Identity | Missing) -> tuple[str, ...]:
    if isinstance(identity, Missing):
        return ()
    found = []
    dgx, fastos, dmi = known(identity.dgx_release), known(identity.fastos_release), known(identity.dmi)
    if dgx and "spark" in dgx.get("DGX_NAME", "").lower():
        found.append(f"/etc/dgx-release names {dgx['DGX_NAME']}")
    if fastos and "spark" in fastos.get("NAME", "").lower():  # its sibling says "N1x FASTOS"
        found.append(f"/etc/fastos-release names {fastos['NAME']}")
    product = (dmi or {}).get("product_name", "")
    if product == "NVIDIA_DGX_Spark" or "with GB10" in product:
        found.append(f"DMI product {product}")
    return tuple(found)


def _named_otherwise(identity: Identity | Missing) -> bool:
    """The sibling N1X has the same capability and a release file of its own: NAME="N1x FASTOS"."""
    fastos = None if isinstance(identity, Missing) else known(identity.fastos_release)
    return bool(fastos) and "spark" not in (fastos or {}).get("NAME", "").lower()


def _by_capability(device: GpuDevice, profiles: Iterable[Profile], alone: bool) -> Platform | None:
    """By name and capability together, or where ``alone`` by the capability that only a Spark has."""
    name, capability = known(device.name), known(device.compute_capability)
    for profile in profiles:
        if capability is None or capability != profile.compute_capability:
            continue
        if name in profile.names:
            return Platform(profile, (f"GPU name {name}", f"capability {capability}"), gpu_expected=True)
        if alone and profile.is_spark:
            return Platform(profile, (f"capability {capability}",), gpu_expected=True)
    return None
