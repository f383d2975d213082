// Print the structural schema of a Go type that has no CRD: `go run . PACKAGE TYPE`.
//
// The configuration files of JobSet and Kueue are described by Go types alone. The fields, their types and the
// markers in their comments are read by the library with which both projects make their CRDs.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	parsing "sigs.k8s.io/controller-tools/pkg/markers"
	_ "sigs.k8s.io/jobset/api/config/v1alpha1"
	_ "sigs.k8s.io/kueue/apis/config/v1beta2"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path, name string) error {
	packages, err := loader.LoadRoots(path)
	if err != nil {
		return err
	}
	if len(packages) != 1 || len(packages[0].Errors) > 0 {
		return fmt.Errorf("%s cannot be read", path)
	}
	registry := &parsing.Registry{}
	if err := markers.Register(registry); err != nil {
		return err
	}
	parser := &crd.Parser{
		Collector: &parsing.Collector{Registry: registry},
		Checker:   &loader.TypeChecker{},
		// Numbers of a configuration may have a fraction.
		AllowDangerousTypes: true,
	}
	crd.AddKnownTypes(parser)
	knowDurations(parser)
	parser.NeedPackage(packages[0])
	kind := crd.TypeIdent{Package: packages[0], Name: name}
	parser.NeedFlattenedSchemaFor(kind)
	schema, found := parser.FlattenedSchemata[kind]
	if !found {
		return fmt.Errorf("%s has no type %s", path, name)
	}
	text, err := json.MarshalIndent(schema, "", " ")
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(text))
	return err
}

// knowDurations gives metav1.Duration the pattern of time.ParseDuration. A sign in front is left out: Kueue
// refuses what is negative, and nobody writes a plus.
func knowDurations(parser *crd.Parser) {
	const meta = "k8s.io/apimachinery/pkg/apis/meta/v1"
	known := parser.PackageOverrides[meta]
	parser.PackageOverrides[meta] = func(parser *crd.Parser, of *loader.Package) {
		known(parser, of)
		kind := crd.TypeIdent{Package: of, Name: "Duration"}
		schema := parser.Schemata[kind]
		schema.Pattern = `^(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
		parser.Schemata[kind] = schema
	}
}
