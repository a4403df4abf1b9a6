"""One module a section: module ``memory`` holds the type ``Memory``, filled by the collector of that name."""
