"""The machine that a log is of, where the user says so: its memory decides which rules may speak."""

from __future__ import annotations

from gonogo.cli import UsageError
from gonogo.logs.device import Device
from gonogo.logs.signatures import DISCRETE, UNIFIED
from gonogo.node.facts.document import Facts
from gonogo.node.facts.missing import UNCOLLECTED, known


def of_facts(facts: Facts) -> Device | None:
    """The device of these facts; None where they do not tell what memory it has."""
    from gonogo import catalogue
    from gonogo.node.facts.sections.gpu import devices_of
    from gonogo.platforms.identify import GENERIC, NONE, identify

    sections = facts.sections
    identity, gpu = sections.get("identity", UNCOLLECTED), sections.get("gpu", UNCOLLECTED)
    platform = identify(identity, gpu, catalogue.profiles(), in_container=False)
    if platform.unified_memory:
        return Device(UNIFIED, other=not platform.is_spark)
    of_its_own = any(known(device.memory_total_bytes) for device in devices_of(gpu))
    if platform.id == NONE.id or (platform.id == GENERIC.id and not of_its_own):
        return None
    return Device(DISCRETE)


def of_record(path: str) -> Device | None:
    """The device of a record. Raises UsageError for what is none."""
    from gonogo.cli import _input
    from gonogo.node import collection, raw
    from gonogo.node.facts.codec import decode

    data = _input.read_json(path)
    try:
        if isinstance(data, dict) and data.get("schema") == raw.SCHEMA:
            return of_facts(decode(collection.document(collection.gather(raw.host_of(data))), forgiving=True))
        return of_facts(decode(data))
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def of_this_machine() -> Device | None:
    """The device of this machine."""
    from gonogo.node import collection
    from gonogo.node.facts.codec import decode
    from gonogo.node.ports.host import live_host

    results = collection.gather(live_host(), only=["gpu", "identity"])
    return of_facts(decode(collection.document(results), forgiving=True))
