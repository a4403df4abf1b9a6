"""Container: marker files, PID 1's control group, the root mount, the runtime's variables. Evidence, no verdict."""

from __future__ import annotations

from gonogo.node.facts.missing import Missing
from gonogo.node.facts.sections.container import Container
from gonogo.node.parse.mounts import Mount, mountinfo
from gonogo.node.ports.host import Host

MARKERS = (
    "/.dockerenv",
    "/run/.containerenv",
    "/.singularity.d",
    "/run/host/container-manager",
    "/run/systemd/container",
)
#: Files that docker, podman and containerd mount over the image's own.
INJECTED = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
#: Variables that runtimes set inside, by name; their values say which runtime, never anything private.
VARIABLES = (
    *("container", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "ENROOT_ROOTFS", "KUBERNETES_SERVICE_HOST"),
    *("NVIDIA_BUILD_ID", "NVIDIA_PRODUCT_NAME", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_REQUIRE_CUDA"),
    # What the image was built with and for, and what NGC's entrypoint found out about its own libcuda.
    *("CUDA_VERSION", "CUDA_DRIVER_VERSION", "_CUDA_COMPAT_STATUS"),
    # NGC images name their release in a variable of their own.
    *("NVIDIA_PYTORCH_VERSION", "NVIDIA_VLLM_VERSION", "NVIDIA_SGLANG_VERSION", "NVIDIA_TRITON_SERVER_VERSION"),
    *("NVIDIA_TENSORRT_VERSION", "NVIDIA_TENSORFLOW_VERSION", "NVIDIA_BIGNLP_VERSION"),
)
#: Of these only the presence is kept: the values are addresses and paths.
PRESENCE_ONLY = ("KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "ENROOT_ROOTFS")
CGROUP_CHARACTERS = 2000


def collect(host: Host) -> Container:
    """Reads /proc/1/cgroup and /proc/self/mountinfo; both are there without privileges in all runtimes known."""
    cgroup = host.files.text("/proc/1/cgroup")
    text = host.files.text("/proc/self/mountinfo")
    mounts = text if isinstance(text, Missing) else mountinfo(text)
    root: Mount | Missing = mounts if isinstance(mounts, Missing) else Missing("not_found", "no mount of /")
    for mount in () if isinstance(mounts, Missing) else mounts:
        if mount.point == "/":  # the last mount on a point is the one that is seen
            root = mount
    found = {name: host.environment[name] for name in VARIABLES if name in host.environment}
    return Container(
        markers=tuple(path for path in MARKERS if host.files.exists(path)),
        cgroup=cgroup if isinstance(cgroup, Missing) else cgroup[:CGROUP_CHARACTERS],
        root_filesystem=root if isinstance(root, Missing) else root.filesystem,
        root_source=root if isinstance(root, Missing) else root.source,
        root_subtree=root if isinstance(root, Missing) else root.subtree,
        bind_mounts=mounts if isinstance(mounts, Missing) else tuple(m.point for m in mounts if m.point in INJECTED),
        environment={name: "set" if name in PRESENCE_ONLY else value for name, value in found.items()},
    )
