"""xpk's flags, manifests of the shape that it makes, and how docs/from-xpk.md is read."""
