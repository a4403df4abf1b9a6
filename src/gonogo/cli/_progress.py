"""How far a long reading is, on a terminal: one line that is overwritten, and gone at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

from gonogo.printable import printable

#: A reading shorter than this says nothing.
PATIENCE_SECONDS = 1.0


def shown(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """``blocks``, with the bytes so far on standard error where that is a terminal."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield from blocks
        return
    count, last, wrote = 0, time.monotonic(), False
    try:
        for block in blocks:
            yield block
            count += len(block)
            now = time.monotonic()
            if now - last >= PATIENCE_SECONDS:
                last, wrote = now, True
                stream.write(f"\r\x1b[K{count / 1e9:.1f} GB of {printable(name)[:60]}")
                stream.flush()
    finally:
        if wrote:
            stream.write("\r\x1b[K")
            stream.flush()
