"""Benchmarks: `python -m bench` lists them, `python -m bench NAME` runs one.

Each prints Markdown tables as they stand in docs/benchmarks.md. Instances come from seeds, so
everybody measures the same ones. Peers are run beside us, in the same process on the same machine:
what counts is the ratio.
"""
