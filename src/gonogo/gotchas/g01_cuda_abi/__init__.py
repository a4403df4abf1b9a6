"""G1: CUDA 12/13 ABI mismatch."""
