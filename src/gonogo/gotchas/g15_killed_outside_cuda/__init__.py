"""G15: Killed outside CUDA."""
