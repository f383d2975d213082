"""The command line: one module for each command, imported when it is called, and what commands share."""
