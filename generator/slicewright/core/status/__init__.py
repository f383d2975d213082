"""What runs in a cluster now, and why a run waits or fails: its objects, read; nothing is guessed."""
