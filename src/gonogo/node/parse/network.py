"""What the kernel prints about network functions: /proc/net/route, /proc/self/limits, single values below /sys."""

from __future__ import annotations

import re

_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_HEX = re.compile(r"[0-9A-F]{8}")
_RTF_UP, _RTF_GATEWAY, _RTF_REJECT = 0x1, 0x2, 0x200  # <linux/route.h>


def pci_address(device: str) -> str | None:
    """0002:01:00.0 of a resolved /sys/class/net/NAME/device; None for what is on no PCI bus (virtual, USB).

    A virtio function lies one folder below its PCI device.
    """
    parts = device.rstrip("\n").split("/")
    last = parts[-2] if len(parts) > 1 and re.match(r"virtio[0-9]", parts[-1]) else parts[-1]
    return last if _PCI_ADDRESS.fullmatch(last) else None


def whole_number(text: str) -> int | None:
    """-1, 9000; None for anything else."""
    text = text.strip()
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII) else None


def gigatransfers(text: str) -> float | None:
    """32.0 of "32.0 GT/s PCIe"; None for "Unknown"."""
    found = re.match(r"([0-9]{1,3}(?:\.[0-9]{1,2})?) GT/s", text, re.ASCII)
    return float(found.group(1)) if found else None


def port_state(text: str) -> str | None:
    """ACTIVE of "4: ACTIVE", as /sys/class/infiniband/NAME/ports/1/state has it."""
    found = re.match(r"[0-9]{1,2}: ([A-Z_]{1,20})\s*$", text, re.ASCII)
    return found.group(1) if found else None


def port_rate(text: str) -> float | None:
    """200.0 of "200 Gb/sec (4X HDR)"."""
    found = re.match(r"([0-9]{1,5}(?:\.[0-9]{1,2})?) Gb/sec", text, re.ASCII)
    return float(found.group(1)) if found else None


def locked_memory_limit(text: str) -> int | str | None:
    """The soft limit of "Max locked memory" in /proc/self/limits: bytes or "unlimited"; None where it is not said."""
    found = re.search(r"^Max locked memory\s+([0-9]{1,18}|unlimited)\s", text, re.MULTILINE | re.ASCII)
    if found is None:
        return None
    return int(found.group(1)) if found.group(1) != "unlimited" else "unlimited"


def connected_subnets(content: bytes) -> dict[str, list[int]]:
    """/proc/net/route as interface to numbers of its directly connected subnets: equal number, equal subnet.

    The numbers say nothing else: no address leaves this function. A route by a gateway and the default route are none.
    """
    numbers: dict[tuple[str, str], int] = {}
    found: dict[str, list[int]] = {}
    for line in content.decode("utf-8", "replace").split("\n")[1:]:
        fields = line.split()
        if len(fields) < 8 or not all(_HEX.fullmatch(fields[index]) for index in (1, 2, 7)):
            continue
        if not re.fullmatch(r"[0-9A-Fa-f]{1,8}", fields[3]):
            continue
        name, destination, gateway, flags, mask = fields[0], fields[1], fields[2], int(fields[3], 16), fields[7]
        direct = int(gateway, 16) == 0 and not flags & (_RTF_GATEWAY | _RTF_REJECT) and bool(flags & _RTF_UP)
        if direct and int(mask, 16) != 0:
            number = numbers.setdefault((destination, mask), len(numbers))
            own = found.setdefault(name, [])
            if number not in own:
                own.append(number)
    return found
