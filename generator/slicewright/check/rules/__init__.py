"""The semantic rules: one module for each subject. `every` imports all of them, which takes time."""
