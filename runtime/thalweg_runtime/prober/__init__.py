"""The latency prober: one on each node, which asks the others how far away they are.

    addresses ──▶ echo ──▶ choosing ──▶ measuring ──▶ /metrics
    (DNS)         who is there          whom to ask    medians of what came back

A prober needs no right in the cluster: the name of a headless service gives the addresses, and
everybody who is asked says which node and which domain it is.
"""
