"""Argo CD and Flux: what is rendered for them, and what they make of it."""
