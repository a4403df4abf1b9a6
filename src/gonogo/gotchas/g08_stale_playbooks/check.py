"""G8: what is known of the images and packages in use here, and how old that knowledge is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gonogo import known as dated
from gonogo.finding import INFO, SKIP, Finding
from gonogo.gotchas.g08_stale_playbooks.dates import CATALOGUE_DATE, NEWEST, OLD_DAYS
from gonogo.node.facts.missing import Missing, known
from gonogo.node.facts.sections.network import Network
from gonogo.platforms.identify import Platform
from gonogo.ranges import numbers

FABRIC_DRIVER = "mlx5_core"


def check_in_use(
    network: Network | Missing,
    platform: Platform,
    versions: Mapping[str, str],
    known_rows: tuple[dated.Known, ...],
    collected_at: str,
) -> Iterator[Finding]:
    """Without a playbook, an image or a command there is nothing else to look up."""
    linked = _fast_link(network)
    rows = [row for row in known_rows if linked or row.code != "old-nccl"]
    found = [*dated.findings("G8", rows, versions, platform), *_newer(versions), *_old(collected_at)]
    yield from found or [Finding("G8.skipped", SKIP, "nothing in use is named in the dated data")]


def _fast_link(network: Network | Missing) -> bool:
    interfaces = () if isinstance(network, Missing) else known(network.interfaces) or ()
    return any(item.driver == FABRIC_DRIVER and item.link_up is True for item in interfaces)


def _newer(versions: Mapping[str, str]) -> Iterator[Finding]:
    """One line for all of it: what is newer than the data cannot be judged by the data."""
    newer = [row for row in NEWEST if numbers(versions.get(row.subject, ""))[:1] > (row.major,)]
    if newer:
        have = ", ".join(f"{row.name} {versions[row.subject]}" for row in newer)
        text = f"newer than the data of {CATALOGUE_DATE} knows: {have}; what is said of versions may not hold"
        evidence = tuple(f"newest known: {row.name} {row.major} ({row.source})" for row in newer)
        yield Finding("G8.newer-than-data", INFO, text, evidence)


def _old(collected_at: str) -> Iterator[Finding]:
    if not collected_at:
        return
    from datetime import date

    try:
        days = (date.fromisoformat(collected_at[:10]) - date.fromisoformat(CATALOGUE_DATE)).days
    except ValueError:
        return
    if days > OLD_DAYS:
        text = (
            f"the data on versions is of {CATALOGUE_DATE}, {days} days before this check; a newer gonogo may know more"
        )
        yield Finding("G8.old-data", INFO, text)
