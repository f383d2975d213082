"""Find and build the pinned programs that tests and rehearsals run: `find("kustomize")`, `make tools`."""
