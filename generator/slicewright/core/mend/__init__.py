"""Fixes of findings, applied to the files that people keep."""
