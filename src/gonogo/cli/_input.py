"""Reading a document that someone sent: bounded, and with one clear line for whatever is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gonogo.cli import UsageError, _streams

LIMIT_BYTES = 64 << 20


def read_json(source: str) -> Any:
    """The JSON in the file ``source``, or on standard input for "-". Raises UsageError."""
    try:
        if source == "-":
            content = _streams.read_in(LIMIT_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                content = file.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}") from None
    except ValueError as error:  # a NUL byte in the path
        raise UsageError(f"cannot read {source!r}: {error}") from None
    if len(content) > LIMIT_BYTES:
        raise UsageError(f"{source} is larger than {LIMIT_BYTES >> 20} MiB: no facts document")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UsageError(f"{source} is no JSON: not UTF-8 text") from None
    except RecursionError:
        raise UsageError(f"{source} is no facts document: nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{source} is no complete JSON: {error}") from None
