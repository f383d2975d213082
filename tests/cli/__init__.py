"""The command line as people and scripts see it."""
