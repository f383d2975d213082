"""Capacity: the chips of a cluster, the quota of its queues, and the workloads that fit."""
