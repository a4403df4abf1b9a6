"""Choosing findings by dot-separated parts: G1 takes G1 and G1.*, never G10."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple


class SelectionError(ValueError):
    """A selector names nothing that exists; the message is one line."""


class Selection(NamedTuple):
    """What to keep. Nothing selected means everything; what is ignored is dropped all the same."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def keeps(self, code: str) -> bool:
        """Whether a finding with this code is wanted."""
        wanted = not self.select or any(_covers(selector, code) for selector in self.select)
        return wanted and not any(_covers(selector, code) for selector in self.ignore)

    def touches(self, gotcha: str) -> bool:
        """Whether any finding of ``gotcha`` can be wanted, so that its judges have to run."""
        wanted = not self.select or any(selector.partition(".")[0] == gotcha for selector in self.select)
        return wanted and gotcha not in self.ignore


def _covers(selector: str, code: str) -> bool:
    return code == selector or code.startswith(selector + ".")


def parse(texts: Collection[str], gotchas: Collection[str], codes: Collection[str]) -> tuple[str, ...]:
    """Selectors of comma-separated ``texts``. Raises SelectionError for one that names nothing."""
    found = []
    for item in (part.strip() for text in texts for part in text.split(",")):
        if not item:
            continue
        head, dot, tail = item.partition(".")
        selector = head.upper() + dot + tail.lower()
        if selector not in gotchas and selector not in codes:
            raise SelectionError(f"unknown gotcha {item!r}: gonogo list shows them all")
        found.append(selector)
    if texts and not found:
        raise SelectionError("an empty selection: name a gotcha, such as G1")
    return tuple(found)
