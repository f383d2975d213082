"""The schemas of what users write, and the code that makes schemas from CRDs."""
