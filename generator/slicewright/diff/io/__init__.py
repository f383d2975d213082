"""What a comparison reads from git: versions of the tree, and the files that changed."""
