"""G13: C++ ABI or library order."""
