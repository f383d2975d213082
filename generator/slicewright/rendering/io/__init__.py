"""What a render reads from the package, and the tree that it writes."""
