module thalweg.dev/testbed/placeholder

go 1.25.0
