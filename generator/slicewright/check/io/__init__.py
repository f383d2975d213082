"""What a check reads from disk: files, kustomizations, charts, schemas and rules."""
