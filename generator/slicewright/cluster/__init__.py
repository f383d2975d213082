"""A live cluster: its API server, what runs in it, and the input files that are made from it."""
