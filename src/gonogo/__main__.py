"""``python -m gonogo``."""

import sys

from gonogo.cli import main

if __name__ == "__main__":
    sys.exit(main())
