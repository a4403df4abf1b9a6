"""G3: Out of memory below 128 GB."""
