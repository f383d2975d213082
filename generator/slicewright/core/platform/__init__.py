"""What workloads need in the cluster: queues, flavors, priorities, teams, and how much each has."""
