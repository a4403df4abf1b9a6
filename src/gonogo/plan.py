"""What the user says they are about to do; judges weigh facts against it."""

from __future__ import annotations

from typing import NamedTuple


class Plan(NamedTuple):
    """``need_bytes`` is what the run will allocate; None where the user did not say."""

    need_bytes: int | None = None
