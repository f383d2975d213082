"""What people write: checked against its schema, and brought back to the line that it stands on."""
