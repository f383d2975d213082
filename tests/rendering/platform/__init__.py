"""Tests of what a cluster's platform is rendered to."""
