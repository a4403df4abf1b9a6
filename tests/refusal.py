"""What a call that cannot be carried out looks like: docs/contract.md."""

from __future__ import annotations

import re
from typing import Any


def refused(completed: Any, *words: str) -> None:
    """Exit status 2, and one printable line on standard error that holds ``words``."""
    assert "Traceback" not in completed.stderr
    assert completed.returncode == 2, completed.stderr
    assert not completed.stdout
    assert re.fullmatch(r"gonogo[^\n\x00-\x1f\x7f-\x9f]*\n", completed.stderr), completed.stderr
    for word in words:
        assert word in completed.stderr
