"""The public tutorials against what this repository renders for them."""
