"""Rehearsals on the cluster of processes."""
