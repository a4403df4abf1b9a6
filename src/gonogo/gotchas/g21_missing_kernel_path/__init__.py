"""G21: Kernel or engine path absent or broken on SM12x."""
