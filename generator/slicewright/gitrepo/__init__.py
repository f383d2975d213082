"""Versions of a repository's tree: those that git keeps, and the one on disk."""
