"""The cluster of kind: containers that run beside nodes that are simulated."""
