"""Observe: what the API server says, parsed once into frozen values.

Only here do the shapes of Kubernetes objects matter. The loop and the planner see facts.
"""
