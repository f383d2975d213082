"""A repository on disk: reads it, checks a rendering of it, and makes a new one."""
