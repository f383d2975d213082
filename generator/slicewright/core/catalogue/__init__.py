"""Which TPU slices exist, what people call them, and what is wrong with a name that means none."""
