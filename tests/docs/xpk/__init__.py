"""xpk's flags, manifests of the shape that it makes, and how docs/reference/xpk.md is read."""
