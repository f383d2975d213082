"""The version of the tool, on its own so that nothing else is imported for it."""

__version__ = "0.1.0"
