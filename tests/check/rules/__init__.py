"""The semantic rules: fixtures, corpus, quota, silencing."""
