"""One module a section: module ``memory`` holds the dataclass ``Memory``, filled by the collector of that name."""
