"""The other state of a fact: why it has no value."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

T = TypeVar("T")

#: The machine cannot tell (NVML_ERROR_NOT_SUPPORTED, no such kernel feature).
NOT_SUPPORTED = "not_supported"
#: It is there and we may not read it.
PERMISSION_DENIED = "permission_denied"
#: It did not answer within the collector's time limit.
TIMED_OUT = "timed_out"
#: It is not there: no file, no library, no program, no device.
NOT_FOUND = "not_found"
#: Nobody asked: an older record, a partial reading, a collector that does not run on this system.
NOT_COLLECTED = "not_collected"
#: It was asked and broke: an error code, a crash, an answer that is no answer.
FAILED = "failed"

REASONS = (NOT_SUPPORTED, PERMISSION_DENIED, TIMED_OUT, NOT_FOUND, NOT_COLLECTED, FAILED)


class Missing(NamedTuple):
    """A fact without a value: ``reason`` is one of :data:`REASONS`, ``detail`` one line for people."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        words = self.reason.replace("_", " ")
        return f"{words}: {self.detail}" if self.detail else words


#: The default of every fact, so that a partial document needs no special case.
UNCOLLECTED = Missing(NOT_COLLECTED)


def known(fact: T | Missing) -> T | None:
    """The value of ``fact``, or None when it is missing."""
    return None if isinstance(fact, Missing) else fact


def missing_from(error: OSError | ValueError) -> Missing:
    """The reason that an error of a system call stands for; ValueError is a name that no file can have."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError, ValueError)):
        return Missing(NOT_FOUND)
    if isinstance(error, PermissionError):
        return Missing(PERMISSION_DENIED)
    return Missing(FAILED, error.strerror or type(error).__name__)
