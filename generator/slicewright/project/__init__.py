"""Access to files: what the package brings along, a repository on disk, and the writing of its tree."""
