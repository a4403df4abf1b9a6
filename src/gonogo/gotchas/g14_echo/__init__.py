"""G14: Only an echo."""
