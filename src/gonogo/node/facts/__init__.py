"""Facts: plain, frozen data about a machine. A fact is a value or a ``Missing`` with its reason."""
