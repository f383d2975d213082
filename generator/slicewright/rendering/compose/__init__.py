"""The Kustomize subset that slicewright writes, evaluated in process; JSON 6902 patches."""
