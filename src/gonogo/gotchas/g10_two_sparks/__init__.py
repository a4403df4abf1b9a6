"""G10: Two Sparks."""
