"""Runs: what makes one, and how its file is known."""
