"""The test bed itself: how it starts, what it leaves behind, what it makes of a cluster file."""
