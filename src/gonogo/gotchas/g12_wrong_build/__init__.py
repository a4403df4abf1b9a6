"""G12: Wrong build for this machine."""
