"""Text from elsewhere made safe for a terminal and for line-oriented formats."""

from __future__ import annotations

import re

# C0 and C1 controls, DEL, and the marks that reorder or hide text on a terminal.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """One line, with every control character as its escape (\\x1b), lone surrogates included."""
    return _UNSAFE.sub(lambda found: found.group(0).encode("unicode_escape").decode("ascii"), text)
