"""JSON Schemas of whole Kubernetes kinds, from CRDs.

A schema of a kind is one self-contained draft-07 document, so that kubeconform reads it as we do. What JSON
Schema cannot say is beside it under `x-slicewright`: scope, deprecation, list-map keys, CEL rules.
"""
