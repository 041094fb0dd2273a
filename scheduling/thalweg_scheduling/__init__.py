"""The planner: a pure function from a Snapshot to a Plan.

Nothing in this package reads a clock, logs, draws from a global generator, or knows Kubernetes.
`now` and `rng` are arguments; the same input gives the same plan on every machine.
"""
