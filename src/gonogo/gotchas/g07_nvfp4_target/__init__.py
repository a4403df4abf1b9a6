"""G7: NVFP4 and the kernel's target."""
