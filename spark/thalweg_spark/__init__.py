"""From Prometheus to matrices: pull, condense, publish.

Only `pull` talks to Prometheus, `condense` is pure, and only `publish` writes.
"""
