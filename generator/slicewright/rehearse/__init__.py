"""Run a repository's clusters and workloads on a real control plane, and write down what happens."""
