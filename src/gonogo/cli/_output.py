"""Where results go: standard output, or a file that is replaced whole or not at all."""

from __future__ import annotations

from gonogo.cli import UsageError, _streams


def write(text: str, target: str | None) -> None:
    """Write ``text`` to ``target``, or to standard output when it is None or "-". Raises UsageError."""
    if target is None or target == "-":
        _streams.write_out(text)
        return
    from gonogo.cli import _replace

    try:
        _replace.replace(target, text)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}") from None
