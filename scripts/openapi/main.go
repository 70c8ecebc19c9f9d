//go:build ignore

// Command openapi prints the OpenAPI schema of the API's Go types, for scripts/update-codegen.sh. What
// it imports is only there while that script runs.
//
// applyconfiguration-gen takes the schema to know which lists are maps and which fields have an owner of their own. Without it there are
// no Extract functions, and the generated fake clientset fails at each write.
package main

import (
	"encoding/json"
	"log"
	"os"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/openapi"
)

func main() {
	// The generator looks for a type under its Go import path written as a domain: com.example.…v1alpha1.DatabaseManager.
	definitions := spec.Definitions{}
	all := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + util.ToRESTFriendlyName(name))
	})
	for name, definition := range all {
		schema := definition.Schema
		// Where the schema for OpenAPI version 2 differs (resource.Quantity: a string or a number), it's beside it.
		if v2, ok := schema.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
			schema = v2
		}
		definitions[util.ToRESTFriendlyName(name)] = schema
	}
	swagger := spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "DatabaseManager", Version: "unversioned"}},
		Paths:       &spec.Paths{},
		Definitions: definitions,
	}}
	if err := json.NewEncoder(os.Stdout).Encode(swagger); err != nil {
		log.Fatal(err)
	}
}
