module thalweg.dev/testbed/targets

go 1.25.0
