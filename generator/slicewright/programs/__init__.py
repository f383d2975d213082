"""Find and build the pinned programs that tests and rehearsals run; `slicewright tools` is its command."""
