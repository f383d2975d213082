// The program with which `make wheels` tells which licences a file holds.
module slicewright.dev/tools/licenses

go 1.24

require github.com/google/licensecheck v0.3.1
