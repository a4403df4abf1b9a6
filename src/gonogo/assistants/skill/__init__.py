"""The agent skill ``spark-training-gotchas``: a folder by the Agent Skills convention, generated from the catalogue.

The words stand in ``templates/`` and in the gotchas' own folders (``gotcha.toml``, ``skill.toml``); here they are put
together. A placeholder is a name between ``@@``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib import resources
from typing import Any

import gonogo
from gonogo import catalogue
from gonogo.finding import number

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "spark-training-gotchas"
TEN = 10


def files() -> dict[str, str]:
    """Path below the skill's folder to content."""
    entries, values = _ten(), _values()
    rows = "\n".join(f"| {gotcha} | {e['skill']['symptom']} | {e['skill']['fix']} |" for gotcha, e in entries.items())
    four = "\n\n".join(_in_four_lines(gotcha, entry) for gotcha, entry in entries.items())
    checks = "\n\n".join(_check(gotcha, entry) for gotcha, entry in entries.items())
    return {
        "SKILL.md": _filled("SKILL.md", {**values, "ROWS": rows, "GOTCHAS": four}),
        "references/gotcha-checks.md": _filled("gotcha-checks.md", {**values, "CHECKS": checks}),
        "assets/preflight.sh": _filled("preflight.sh", values),
    }


def _ten() -> dict[str, dict[str, Any]]:
    """G1 to G10: the catalogue's entry, with the folder's ``skill.toml`` under the key ``skill``."""
    folder = resources.files("gonogo.gotchas")
    found = {}
    for gotcha, entry in catalogue.gotchas().items():
        if number(gotcha) <= TEN:
            text = (folder / entry["package"] / "skill.toml").read_text(encoding="utf-8")
            found[gotcha] = {**entry, "skill": tomllib.loads(text)}
    return found


def _values() -> dict[str, str]:
    """What the templates take from the catalogue: versions, dates and the platform's figures."""
    spark = catalogue.profiles()["gb10"]
    capability = str(spark.compute_capability)
    return {
        "NAME": NAME,
        "VERSION": gonogo.__version__,
        # The whole is no fresher than its oldest part.
        "VERIFIED": min(str(entry["verified"]) for entry in catalogue.gotchas().values()),
        "PCI_DEVICE": f"0x{spark.pci_ids[0].partition(':')[2]}",
        "CAPABILITY": capability,
        "CAPABILITY_TUPLE": capability.replace(".", ", "),
        "CUDA_MAJOR": str(spark.cuda_major),
    }


def _filled(template: str, values: Mapping[str, str]) -> str:
    text = (resources.files(__name__) / "templates" / template).read_text(encoding="utf-8")
    return re.sub(r"@@([A-Z_]+)@@", lambda found: values[found.group(1)], text)


def _in_four_lines(gotcha: str, entry: Mapping[str, Any]) -> str:
    lines = [f"- **{part.capitalize()}:** {entry[part]}" for part in ("symptom", "cause", "check", "fix")]
    return "\n".join([f"### {gotcha}: {entry['title']}", "", *lines])


def _check(gotcha: str, entry: Mapping[str, Any]) -> str:
    skill = entry["skill"]
    if "check" in entry["parts"]:
        command = f"gonogo check --select {gotcha} -v"
    else:
        command = f"gonogo explain {gotcha}    # this version explains it and does not judge it yet"
    return "\n\n".join(
        [
            f"## {gotcha}: {entry['title']}",
            f"```bash\n{command}\n```",
            "Without gonogo:",
            f"```bash\n{skill['shell'].strip()}\n```",
            f"**How to read it.** {skill['read']}",
            f"**What not to conclude.** {skill['conclude_not']}",
            f"**Harmless look-alikes.** {entry['not_a_fault']}",
            f"**Intrusive:** {skill['intrusive']}. **Last verified:** {entry['verified']}.",
        ]
    )
