"""Files on disk: reading, writing, locks, and processes that are killed."""
