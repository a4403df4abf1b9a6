"""What is installed here, by the subjects that dated data is keyed on: kernel, driver, cuda, ota, pip:NAME, ..."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gonogo.node.facts.missing import UNCOLLECTED, Missing, known

#: NGC images name themselves in variables: NVIDIA_PYTORCH_VERSION=25.09.
_IMAGE = "NVIDIA_", "_VERSION"


def versions(sections: Mapping[str, Any]) -> dict[str, str]:
    """Subject to version, of everything that the facts name.

    ``driver`` is the kernel module's version (NVML's where the module's file says nothing), ``libcuda`` the user-mode
    half's, ``cuda`` the newest that the driver serves, ``ota`` the release of DGX OS.
    """
    found: dict[str, str | None] = {}
    identity, driver, gpu = (sections.get(name, UNCOLLECTED) for name in ("identity", "driver", "gpu"))
    if not isinstance(identity, Missing):
        release = known(identity.dgx_release) or {}
        found["kernel"] = known(identity.kernel_release)
        found["ota"] = release.get("DGX_OTA_VERSION") or release.get("DGX_SWBUILD_VERSION")
        found["bios"] = (known(identity.dmi) or {}).get("bios_version")
    if not isinstance(gpu, Missing):
        found["driver"], found["cuda"] = known(gpu.driver_version), known(gpu.cuda_version)
    if not isinstance(driver, Missing):
        found["driver"] = known(driver.kernel_module_version) or found.get("driver")
        found["libcuda"] = known(driver.libcuda_version)
    _packages(sections, found)
    container = sections.get("container", UNCOLLECTED)
    for name, value in ({} if isinstance(container, Missing) else known(container.environment) or {}).items():
        if name.startswith(_IMAGE[0]) and name.endswith(_IMAGE[1]) and len(name) > len("".join(_IMAGE)):
            found[f"image:{name[len(_IMAGE[0]) : -len(_IMAGE[1])].lower()}"] = value
    return {subject: version for subject, version in found.items() if version}


def _packages(sections: Mapping[str, Any], found: dict[str, str | None]) -> None:
    python, software = sections.get("python", UNCOLLECTED), sections.get("software", UNCOLLECTED)
    if not isinstance(python, Missing):
        for distribution in known(python.distributions) or ():
            found.setdefault(f"pip:{distribution.name}", distribution.version)  # the first on the path is imported
        torch = known(python.torch)
        if torch is not None and known(torch.version):
            found["pip:torch"] = known(torch.version)
    if not isinstance(software, Missing):
        found.update({f"dpkg:{name}": version for name, version in (known(software.packages) or {}).items()})
