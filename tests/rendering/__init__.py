"""Rendering: runs, the tree, and what stands in its way."""
