"""From a repository to its tree, and from the tree to changes: files to write and delete."""
