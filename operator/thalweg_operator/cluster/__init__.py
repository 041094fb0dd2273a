"""The cluster as the operator reaches it: one client, one Lease, nothing that decides."""
