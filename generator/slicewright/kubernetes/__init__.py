"""The words of Kubernetes: its objects, quantities, labels, taints and kinds, each defined only here."""
