"""G9: is this a container, what does its image pin, and does what is installed still match."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.finding import INFO, MEDIUM, PASS, SKIP, UNKNOWN, WARN, Finding
from gonogo.node.facts.missing import PERMISSION_DENIED, Missing, known
from gonogo.node.facts.sections.container import Container
from gonogo.node.facts.sections.python import Distribution, Python
from gonogo.platforms.containment import weigh

SHOWN = ("torch", "triton", "xformers", "transformers")
#: What a training stack consists of; other packages may differ from the image's pins without harm.
STACK = (
    *SHOWN,
    "torchvision",
    "torchaudio",
    "torchao",
    "bitsandbytes",
    "flash-attn",
    "vllm",
    "numpy",
    "accelerate",
    "peft",
)


def check_container(container: Container, python: Python | Missing) -> Iterator[Finding]:
    """Marker files first, then the control group, then the runtime's own variables."""
    weighed, versions = weigh(container), _versions(python)
    if weighed.against:
        text = f"{weighed.signs[0]}, but {weighed.against}: a container or a machine made from an image"
        yield Finding("G9.contradiction", UNKNOWN, f"{text}; {versions}", (*weighed.signs, weighed.against), MEDIUM)
    elif weighed.inside:
        pinned = not isinstance(python, Missing) and bool(known(python.constraints))
        text = f"running inside a container ({weighed.signs[0]}); {versions}"
        if pinned:
            yield Finding("G9.container", PASS, text, weighed.signs)
        else:
            yield Finding("G9.unpinned", INFO, f"{text}; nothing pinned", weighed.signs)
    elif isinstance(container.cgroup, Missing):
        why = "not readable" if container.cgroup.reason == PERMISSION_DENIED else str(container.cgroup)
        yield Finding("G9.skipped", SKIP, f"no marker file and /proc/1/cgroup {why}; {versions}")
    else:
        text = "no container marker matched, which does not prove a bare host"
        yield Finding("G9.no-marker", UNKNOWN, f"{text}; {versions}", _mount_lines(container))


def _mount_lines(container: Container) -> tuple[str, ...]:
    filesystem, source = known(container.root_filesystem), known(container.root_source)
    return (f"root filesystem {filesystem} from {source}",) if filesystem else ()


def _versions(python: Python | Missing) -> str:
    """ "torch 2.9.1+cu130, triton 3.5.1, xformers none, transformers 4.57.1"."""
    installed = {} if isinstance(python, Missing) else _first_of_each(known(python.distributions) or ())
    torch = None if isinstance(python, Missing) else known(python.torch)
    own = {"torch": known(torch.version)} if torch else {}
    return ", ".join(
        f"{name} {own.get(name) or (installed[name].version if name in installed else 'none')}" for name in SHOWN
    )


def _first_of_each(distributions: tuple[Distribution, ...]) -> dict[str, Distribution]:
    """Name to the distribution that an import would get: the first on the search path."""
    found: dict[str, Distribution] = {}
    for distribution in distributions:
        found.setdefault(distribution.name, distribution)
    return found


def check_drift(python: Python) -> Iterator[Finding]:
    """The training stack against the exact pins of the constraint file that pip is told to use."""
    pins, installed = known(python.constraints) or {}, _first_of_each(known(python.distributions) or ())
    user = known(python.user_site)
    moved = [
        (name, installed[name].version, pins[name])
        for name in STACK
        if name in pins
        and name in installed
        and installed[name].folder != user  # that copy shadows: a finding of its own
        and not _same(installed[name].version, pins[name])
    ]
    if moved:
        yield Finding(
            "G9.drift",
            WARN,
            "drift from the image: " + ", ".join(f"{name} {now} (pinned {pin})" for name, now, pin in moved),
            evidence=(f"pins of {known(python.constraint_file)}",),
            values={"constraint_file": known(python.constraint_file) or ""},
        )


def _same(installed: str, pinned: str) -> bool:
    # A pin without a local label (2.9.0) is met by a build with one (2.9.0+cu130): PEP 440.
    return installed == pinned or ("+" not in pinned and installed.partition("+")[0] == pinned)


def check_shadowing(python: Python) -> Iterator[Finding]:
    """The same package twice, the user's copy first: the import is not the environment's."""
    user = known(python.user_site)
    copies: dict[str, list[Distribution]] = {}
    for distribution in known(python.distributions) or ():
        copies.setdefault(distribution.name, []).append(distribution)
    shadowed = [
        (rows[0], rows[1])
        for name in STACK
        for rows in [copies.get(name, [])]
        if len(rows) > 1
        and user
        and rows[0].folder == user
        and rows[1].folder != user
        and rows[0].version != rows[1].version
    ]
    if shadowed:
        yield Finding(
            "G9.shadowed",
            WARN,
            "the user's site shadows "
            + ", ".join(f"{own.name} {own.version} by {first.version}" for first, own in shadowed),
            evidence=tuple(f"{row.name} {row.version} in {row.folder}" for pair in shadowed for row in pair),
            values={"user_site": user or ""},
        )


def check_noise(python: Python) -> Iterator[Finding]:
    """Something in the environment prints whenever Python starts: a broken .pth file, a warning, a hook."""
    if python.noise:
        yield Finding("G9.startup-noise", INFO, f"{python.executable} prints at start-up: {python.noise}")
