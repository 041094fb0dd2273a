"""`python -m bench` lists the benchmarks; `python -m bench NAME [WORD …]` runs one."""

import sys

from bench.registry import BENCHMARKS, UnknownWords, listing, run


def main(words: list[str]) -> int:
    """Return the exit code."""
    if not words:
        print(listing())
        return 0
    name, *rest = words
    if name not in BENCHMARKS:
        sys.stderr.write(f"there is no benchmark {name}\n{listing()}\n")
        return 2
    try:
        run(name, rest)
    except UnknownWords as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
