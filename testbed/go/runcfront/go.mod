module thalweg.dev/testbed/runcfront

go 1.25.0
