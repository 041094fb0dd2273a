"""`python -m bench` lists the benchmarks; `python -m bench NAME` runs one."""

import sys

from bench.registry import BENCHMARKS, listing, run


def main(words: list[str]) -> int:
    """Return the exit code."""
    if not words:
        print(listing())
        return 0
    name, *rest = words
    if name not in BENCHMARKS or rest:
        sys.stderr.write(f"there is no benchmark {' '.join(words)}\n{listing()}\n")
        return 2
    run(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
