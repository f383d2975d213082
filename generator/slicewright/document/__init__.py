"""YAML documents: text to plain data with places, and plain data to text that all readers read alike."""
