// A provider for OpenTofu that knows the resources of schemas/google and makes nothing: with it `tofu plan`
// holds a configuration against the tables of the google provider, which no package registry has.
// GOOGLE_TABLES names the file.
package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type resource struct {
	Arguments  map[string]any
	Attributes []string
}

type provider struct {
	tfprotov5.ProviderServer
	schemas map[string]*tfprotov5.Schema
}

var configuration = &tfprotov5.Schema{Block: &tfprotov5.SchemaBlock{Attributes: []*tfprotov5.SchemaAttribute{
	{Name: "project", Type: tftypes.String, Optional: true},
	{Name: "region", Type: tftypes.String, Optional: true},
}}}

// kind returns the type that the tables call `string`, `number`, `bool`, `list(string)` or `map(string)`.
func kind(name string) tftypes.Type {
	if inner, found := strings.CutPrefix(name, "list("); found {
		return tftypes.List{ElementType: kind(strings.TrimSuffix(inner, ")"))}
	}
	if inner, found := strings.CutPrefix(name, "map("); found {
		return tftypes.Map{ElementType: kind(strings.TrimSuffix(inner, ")"))}
	}
	return map[string]tftypes.Type{"string": tftypes.String, "number": tftypes.Number, "bool": tftypes.Bool}[name]
}

// block returns the schema of a block from its arguments: a type, `{"block": {...}}` for one nested block or
// `{"blocks": {...}}` for any number, each within `{"required": ...}` where it must be there.
func block(arguments map[string]any) *tfprotov5.SchemaBlock {
	made := &tfprotov5.SchemaBlock{}
	for name, is := range arguments {
		required := false
		if table, ok := is.(map[string]any); ok {
			if inner, found := table["required"]; found {
				is, required = inner, true
			}
		}
		table, nested := is.(map[string]any)
		if !nested {
			made.Attributes = append(made.Attributes, &tfprotov5.SchemaAttribute{
				Name: name, Type: kind(is.(string)), Required: required, Optional: !required,
			})
			continue
		}
		of := &tfprotov5.SchemaNestedBlock{TypeName: name, Nesting: tfprotov5.SchemaNestedBlockNestingModeList}
		inner, one := table["block"].(map[string]any)
		if one {
			of.MaxItems = 1
		} else {
			inner = table["blocks"].(map[string]any)
		}
		if name == "timeouts" {
			of.Nesting, of.MaxItems = tfprotov5.SchemaNestedBlockNestingModeSingle, 0
		}
		if required {
			of.MinItems = 1
		}
		of.Block = block(inner)
		made.BlockTypes = append(made.BlockTypes, of)
	}
	return made
}

func (p *provider) GetProviderSchema(context.Context, *tfprotov5.GetProviderSchemaRequest) (*tfprotov5.GetProviderSchemaResponse, error) {
	return &tfprotov5.GetProviderSchemaResponse{Provider: configuration, ResourceSchemas: p.schemas}, nil
}

func (p *provider) GetMetadata(context.Context, *tfprotov5.GetMetadataRequest) (*tfprotov5.GetMetadataResponse, error) {
	made := &tfprotov5.GetMetadataResponse{}
	for name := range p.schemas {
		made.Resources = append(made.Resources, tfprotov5.ResourceMetadata{TypeName: name})
	}
	return made, nil
}

func (p *provider) PrepareProviderConfig(_ context.Context, r *tfprotov5.PrepareProviderConfigRequest) (*tfprotov5.PrepareProviderConfigResponse, error) {
	return &tfprotov5.PrepareProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (p *provider) ConfigureProvider(context.Context, *tfprotov5.ConfigureProviderRequest) (*tfprotov5.ConfigureProviderResponse, error) {
	return &tfprotov5.ConfigureProviderResponse{}, nil
}

func (p *provider) StopProvider(context.Context, *tfprotov5.StopProviderRequest) (*tfprotov5.StopProviderResponse, error) {
	return &tfprotov5.StopProviderResponse{}, nil
}

func (p *provider) ValidateResourceTypeConfig(context.Context, *tfprotov5.ValidateResourceTypeConfigRequest) (*tfprotov5.ValidateResourceTypeConfigResponse, error) {
	return &tfprotov5.ValidateResourceTypeConfigResponse{}, nil
}

// PlanResourceChange plans what is written, and nothing besides.
func (p *provider) PlanResourceChange(_ context.Context, r *tfprotov5.PlanResourceChangeRequest) (*tfprotov5.PlanResourceChangeResponse, error) {
	return &tfprotov5.PlanResourceChangeResponse{PlannedState: r.ProposedNewState}, nil
}

func main() {
	content, err := os.ReadFile(os.Getenv("GOOGLE_TABLES"))
	if err != nil {
		panic(err)
	}
	var tables struct{ Resources map[string]resource }
	if err := json.Unmarshal(content, &tables); err != nil {
		panic(err)
	}
	made := &provider{schemas: map[string]*tfprotov5.Schema{}}
	for name, of := range tables.Resources {
		body := block(of.Arguments)
		for _, attribute := range of.Attributes {
			body.Attributes = append(body.Attributes, &tfprotov5.SchemaAttribute{Name: attribute, Type: tftypes.DynamicPseudoType, Computed: true})
		}
		made.schemas[name] = &tfprotov5.Schema{Block: body}
	}
	serve := func() tfprotov5.ProviderServer { return made }
	if err := tf5server.Serve("registry.opentofu.org/hashicorp/google", serve); err != nil {
		panic(err)
	}
}
