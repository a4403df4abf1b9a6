"""Command lines and environments of /proc (proc(5)): what runs, and the few flags and variables that may be kept.

The rest of a command line is nobody's business: it can hold tokens, paths and names.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Mapping, NamedTuple, Sequence

#: No command line that matters is longer; the rest is not looked at.
LIMIT_BYTES = 1 << 17

# No regular expressions here: compiling them would take as long as reading all of /proc.
_DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + _DIGITS + "_.+-"
_VALUE_CHARACTERS, _CARDS_CHARACTERS = 32, 64

#: Flags that are kept, by their spellings (dashes for underscores) and the one name they are kept under.
_LONG = {
    **{
        name: name
        for name in (
            *("gpu-memory-utilization", "kv-cache-memory-bytes", "mem-fraction-static", "cuda-memory-fraction"),
            *("kv-cache-free-gpu-memory-fraction", "tensor-parallel-size", "pipeline-parallel-size"),
            *("data-parallel-size", "quantization", "kv-cache-dtype", "max-model-len", "max-total-tokens"),
            *("n-gpu-layers", "ctx-size", "reserve-vram", "lowvram", "highvram", "nproc-per-node", "nnodes"),
            *("num-processes", "enforce-eager", "attention-backend", "config"),
        )
    },
    "kv-cache-free-gpu-mem-fraction": "kv-cache-free-gpu-memory-fraction",
    "free-gpu-memory-fraction": "kv-cache-free-gpu-memory-fraction",
    "tp": "tensor-parallel-size",
    "tp-size": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "pp-size": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "dp-size": "data-parallel-size",
    "quantize": "quantization",
    "gpu-layers": "n-gpu-layers",
    "extra-llm-api-options": "config",
}
_SHORT = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "ngl": "n-gpu-layers",
}
#: Flags that argparse knows by any beginning that is no other's: --gpu-memory-util.
_ABBREVIATED = ("gpu-memory-utilization", "kv-cache-memory-bytes", "mem-fraction-static", "cuda-memory-fraction")
_SHORTEST = 7
_SWITCHES = ("lowvram", "highvram", "enforce-eager")

#: Variables that are kept.
VARIABLES = (
    *("OLLAMA_KEEP_ALIVE", "OLLAMA_MAX_LOADED_MODELS", "OLLAMA_NUM_PARALLEL", "OLLAMA_CONTEXT_LENGTH"),
    *("OLLAMA_GPU_OVERHEAD", "CUDA_MEMORY_FRACTION", "CUDA_VISIBLE_DEVICES", "WORLD_SIZE", "LOCAL_RANK"),
)


class Command(NamedTuple):
    """What runs: ``path`` as it was called, or ``module`` of python -m; both empty for an interpreter without either.

    ``arguments`` are the program's own, the interpreter's taken off.
    """

    path: str
    module: str
    arguments: Sequence[str]
    interpreted: bool

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


def words(cmdline: bytes) -> list[str]:
    """The arguments. A title (setproctitle) is one, padded with zeros; kernel threads and zombies have none."""
    plain = cmdline[:LIMIT_BYTES].rstrip(b"\0")
    return plain.decode("utf-8", "replace").split("\0") if plain else []


def interprets(name: str) -> bool:
    """python, python3.12, python3.13t, pypy3."""
    for prefix in ("python", "pypy"):
        if name.startswith(prefix):
            version = name[len(prefix) :]
            for build in ("-dbg", "t", "d"):
                version = version[: -len(build)] if version.endswith(build) else version
            return not version.strip(_DIGITS + ".")
    return False


def command(arguments: Sequence[str]) -> Command:
    """What these arguments run. Only the program itself: not what a shell, sudo or docker would start."""
    if not arguments:
        return Command("", "", (), False)
    if not interprets(arguments[0].rpartition("/")[2]):
        return Command(arguments[0], "", arguments[1:], False)
    at = 1
    while at < len(arguments):
        word = arguments[at]
        if not word.startswith("-"):
            return Command(word, "", arguments[at + 1 :], True)
        if word == "-":  # a program on standard input
            break
        at += 1
        if word.startswith("--"):
            continue
        for place, letter in enumerate(word[1:], 2):
            rest = word[place:]
            if letter == "c":
                return Command("", "", (), True)
            if letter == "m":
                module = rest or (arguments[at] if at < len(arguments) else "")
                return Command("", module, arguments[at if rest else at + 1 :], True)
            if letter in "WX":  # these take an argument
                at += 0 if rest else 1
                break
    return Command("", "", (), True)


def flags(
    arguments: Sequence[str], last_counts: bool = True, more: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """The flags that may be kept. "true" for a switch, "" for a value that is no number and no short word.

    ``config`` says only that there is a configuration file, where any of the others may stand. ``more`` are the
    program's own short flags.
    """
    short = {**_SHORT, **more}
    found: dict[str, str] = {}
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if not word.startswith("-"):
            continue
        spelling, equals, value = word.partition("=")
        key = spelling.lstrip("-").replace("_", "-")
        name = _long(key) if spelling.startswith("--") else short.get(key)
        if name is None:
            continue
        if name in _SWITCHES:
            value = value if equals else "true"
        elif not equals and at < len(arguments) and (arguments[at][:1] != "-" or _number(arguments[at])):
            value = arguments[at]
            at += 1
        if last_counts or name not in found:
            found[name] = "set" if name == "config" else _kept(value)
    return found


def _kept(value: str) -> str:
    """A number or a short word, else nothing."""
    return value if len(value) <= _VALUE_CHARACTERS and not value.strip(_LETTERS) else ""


def _number(word: str) -> bool:
    """-1 is a value, -x a flag."""
    digits = word.lstrip("+-")
    return bool(digits) and not digits.strip(_DIGITS + ".")


def _long(key: str) -> str | None:
    if key in _LONG or len(key) < _SHORTEST:
        return _LONG.get(key)
    return next((name for name in _ABBREVIATED if name.startswith(key)), None)


def variables(environ: bytes) -> dict[str, str]:
    """The variables of a /proc/PID/environ that may be kept; cards that are not named by number count as "set"."""
    found: dict[str, str] = {}
    for entry in environ.split(b"\0"):
        name, equals, content = entry.partition(b"=")
        key = name.decode("ascii", "replace")
        if not equals or key not in VARIABLES:
            continue
        value = content.decode("utf-8", "replace")
        if key == "CUDA_VISIBLE_DEVICES":
            by_number = len(value) <= _CARDS_CHARACTERS and not value.strip(_DIGITS + ",")
            found[key] = value if by_number else "set"
        else:
            found[key] = _kept(value)
    return found


#: Of a /proc/PID/status: the name here, which of the values, and what makes bytes of it.
_STATUS = {b"PPid": ("parent", 0, 1), b"VmRSS": ("resident", 0, 1024), b"Uid": ("user", 1, 1)}


def status(text: bytes) -> dict[str, int]:
    """``parent`` (pid), ``resident`` (bytes) and ``user`` (effective id) of a /proc/PID/status, where they are there.

    A process names itself in the first line, escaped, so that it cannot write another.
    """
    found: dict[str, int] = {}
    for entry in text.split(b"\n"):
        key, _, rest = entry.partition(b":")
        if key not in _STATUS:
            continue
        name, place, factor = _STATUS[key]
        values = rest.split()
        if len(values) > place and values[place].isdigit() and len(values[place]) < 19:
            found[name] = int(values[place]) * factor
    return found


#: Names of processes that adopt others' orphans, and of shells; python for every interpreter.
_NAMES = frozenset(
    [
        *("systemd", "init", "tini", "docker-init", "dumb-init", "catatonit", "s6-svscan", "containerd-shim", "conmon"),
        *("pause", "runit", "bash", "sh", "dash", "zsh", "fish", "sleep", "tail", "sudo", "tmux", "screen", "sshd"),
        *("raylet", "orted", "prted", "ollama", "vllm", "supervisord"),
    ]
)


def process_name(comm: bytes) -> str:
    """A /proc/PID/comm, where it is a name that says who starts or adopts processes; else "other".

    A comm can be set to anything, so no other is kept.
    """
    name = comm.decode("utf-8", "replace").strip()
    if name == "pt_main_thread" or interprets(name):
        return "python"
    for prefix in ("containerd-shim", "tmux"):
        name = prefix if name.startswith(prefix) else name
    return name if name in _NAMES else "other"


def hides_processes(mountinfo: bytes) -> bool:
    """Whether /proc is mounted so that other users' processes are hidden (hidepid, by number or by name)."""
    options = ""
    for line in mountinfo.decode("utf-8", "replace").split("\n"):
        left, dash, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if dash and len(before) >= 6 and before[4] == "/proc":  # the last mount on a point is the one that is seen
            options = ",".join((before[5], *after[2:3]))
    chosen = [option.partition("=")[2] for option in options.split(",") if option.startswith("hidepid=")]
    return bool(chosen) and chosen[-1] not in ("0", "off")
