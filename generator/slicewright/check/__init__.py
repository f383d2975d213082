"""Checks finished objects by schemas, then by rules: files from any tool, and composed overlays."""
