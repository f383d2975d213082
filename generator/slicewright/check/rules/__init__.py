"""The semantic rules: a module a subject. `every` imports all of them, which takes its time."""
