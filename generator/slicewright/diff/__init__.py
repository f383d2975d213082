"""Compares two versions of the rendered tree: what the change does to the clusters."""
