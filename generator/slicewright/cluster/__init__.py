"""A live cluster: its API server, what runs in it, and the intent that it becomes."""
