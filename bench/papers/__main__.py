"""`python -m bench.papers`, the same as `python -m bench papers`."""

import sys

from bench.papers import main

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
