"""Runs: their identity, and the header by which a generated file is known."""
