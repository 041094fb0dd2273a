"""Dividing the tasks of a topology into blocks that talk little with each other."""
