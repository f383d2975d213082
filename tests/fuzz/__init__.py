"""A fuzzer: what strangers could put before slicewright, `make fuzz MINUTES=5 SEED=1`."""
