"""G5: Bandwidth ceiling."""
