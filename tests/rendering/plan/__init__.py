"""Plans: every number, every name, and every refusal with its exact words."""
