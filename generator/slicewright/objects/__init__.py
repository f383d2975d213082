"""Objects of a scope with the places of their values: what rules and Kueue's arithmetic read."""
