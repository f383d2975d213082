"""What each field of a TPUWorkload does to the objects, on every pattern that it applies to."""
