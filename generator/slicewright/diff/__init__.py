"""Two versions of the rendered tree -> what going from one to the other does to the clusters."""
