"""Collectors: one source of facts, one file. ``collect(host)`` reads through the host's ports and returns its section.

A collector may say ``OWN_CHILD = True`` (it can hang or crash; it then runs beside the others) and ``LIMIT_SECONDS``
(2 s unless said). It never judges.
"""

from __future__ import annotations

import pkgutil
from typing import List

DEFAULT_LIMIT_SECONDS = 2.0


def names() -> List[str]:
    """The collectors of this package: every module in it."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))
