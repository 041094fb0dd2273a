module thalweg.dev/testbed/pause

go 1.25.0
