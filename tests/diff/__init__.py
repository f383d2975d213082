"""What a change does to the clusters."""
