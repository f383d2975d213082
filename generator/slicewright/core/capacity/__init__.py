"""Capacity: what a cluster has, how its queues share it, and which workloads fit where."""
