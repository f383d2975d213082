"""Benchmarks: each prints JSON, with ratios taken in one run (see docs/contributing/benchmarks.md)."""
