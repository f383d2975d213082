"""The platform of a cluster: queues, flavors, priorities, teams, and their quota."""
