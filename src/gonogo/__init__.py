"""Go / no-go for machine-learning runs on NVIDIA DGX Spark (GB10) and other NVIDIA GPUs.

This module is part of the collector zipapp: it must stay importable on Python 3.8 and cost nothing.
"""

__version__ = "0.1.0"
