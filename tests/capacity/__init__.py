"""Capacity: pools, queues and what fits."""
