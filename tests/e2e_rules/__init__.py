"""The semantic rules against the real API server, webhooks and CEL rules."""
