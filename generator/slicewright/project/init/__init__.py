"""What `slicewright init` writes: the files of a GitOps repository, and the bases that it vendors."""
