module thalweg.dev/testbed/certificates

go 1.25.0
