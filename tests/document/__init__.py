"""YAML in and out: what slicewright reads and writes, held against the readers of others."""
