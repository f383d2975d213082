"""The Kustomize subset that slicewright evaluates itself, held against the real programs."""
