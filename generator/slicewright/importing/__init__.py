"""Reading a living cluster through kubectl, for import."""
