"""How Kueue admits: quota, requests, flavor assignment, and what a workload lacks."""
