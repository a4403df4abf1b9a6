"""Updates: what nvidia-spark-ota-check and fwupdmgr say; seconds of work, so only with --thorough."""

from __future__ import annotations

from gonogo.node.facts.missing import FAILED, NOT_COLLECTED, NOT_FOUND, PERMISSION_DENIED, Missing
from gonogo.node.facts.sections.updates import Updates
from gonogo.node.ports.host import Host

LIMIT_SECONDS = 20.0
#: Not is-ota-available: that one may install a newer version of the checker. This one changes nothing.
OTA_CHECK = ["nvidia-spark-ota-check", "summary"]
#: The numbers of single devices are emptied in the command, so that they do not even reach a recording.
FIRMWARE = 'fwupdmgr get-devices --json | sed -E \'s/("(Serial|DeviceId|ParentDeviceId|CompositeId)" *: *")[^"]*/\\1/\''
MOST_LINES, MOST_CHARACTERS = 20, 200


def collect(host: Host) -> Updates | Missing:
    """Both programs are the machine's own; either may be absent, and the first needs root."""
    if not host.thorough:
        return Missing(NOT_COLLECTED, "only with --thorough")
    from gonogo.node.parse import updates  # json, which the usual run does without

    ota = host.commands.run(OTA_CHECK, LIMIT_SECONDS)
    text = "" if isinstance(ota, Missing) else ota.output.decode("utf-8", "replace")
    lines = ota if isinstance(ota, Missing) else _lines(text, updates.ota_error(text), ota.ending())
    release = updates.ota_summary(text)
    lacking = lines if isinstance(lines, Missing) else Missing(NOT_FOUND, "printed in no known form")
    return Updates(
        ota_check=lines,
        installed_release=lacking if release is None else release.installed,
        newest_release=lacking if release is None else release.newest,
        differing_percent=lacking if release is None else release.differing_percent,
        firmware=_firmware(host),
    )


def _lines(text: str, error: str, ending: str) -> tuple[str, ...] | Missing:
    if error:
        return Missing(PERMISSION_DENIED if "root" in error else FAILED, error[:MOST_CHARACTERS])
    lines = [line.rstrip()[:MOST_CHARACTERS] for line in text.splitlines() if line.strip()]
    return tuple(lines[:MOST_LINES]) if lines else Missing(FAILED, f"nvidia-spark-ota-check: {ending}")


def _firmware(host: Host) -> dict[str, str] | Missing:
    from gonogo.node.parse import updates

    answer = host.commands.run(["sh", "-c", FIRMWARE], LIMIT_SECONDS)
    if isinstance(answer, Missing):
        return answer
    found = updates.firmware(answer.output.decode("utf-8", "replace"))
    if found is not None:
        return found
    complaint = answer.errors.decode("utf-8", "replace").strip().partition("\n")[0][:MOST_CHARACTERS]
    if "fwupdmgr" in complaint and "not found" in complaint:  # the shell's words
        return Missing(NOT_FOUND)
    return Missing(FAILED, complaint or "fwupdmgr printed no list of devices")
