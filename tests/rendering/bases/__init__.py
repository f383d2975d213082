"""Bases, components and overlays against the real kustomize, oldest and newest."""
