"""Repository -> tree -> changes: what every file should hold, and what has to happen to get there."""
