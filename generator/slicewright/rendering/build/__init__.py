"""Plan -> objects: a base changed as the plan says, and the overlay that leads there."""
