module thalweg.dev/testbed/latency

go 1.25.0
