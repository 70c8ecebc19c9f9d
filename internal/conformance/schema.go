package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// field is a field that may change.
type field struct {
	of, name string // spec, and the field's own
	values   []any
	schema   spec.Schema // if there are no values
}

// fields returns the fields that may change.
func (w *World) fields(ctx context.Context) (fields []field, err error) {
	for of, names := range w.resource.MayChange {
		var properties map[string]spec.Schema
		for name, values := range names {
			if len(values) == 0 && properties == nil {
				if properties, err = w.properties(ctx, of); err != nil {
					return nil, err
				}
			}
			schema, found := properties[name]
			if len(values) == 0 && !found {
				return nil, fmt.Errorf("mayChange: the CRD's schema has no field %s.%s", of, name)
			}
			fields = append(fields, field{of, name, values, schema})
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.of+"."+a.name, b.of+"."+b.name) })
	return fields, nil
}

// properties returns what the CRD's schema says of the fields of a spec, or of another part of the objects.
func (w *World) properties(ctx context.Context, of string) (map[string]spec.Schema, error) {
	name, version := w.resource.gvr.GroupResource().String(), w.resource.gvr.Version
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	crd, err := w.dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		v, _ := v.(map[string]any)
		properties, found, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema", "properties", of, "properties")
		if v["name"] != version || !found {
			continue
		}
		text, err := json.Marshal(properties)
		if err != nil {
			return nil, err
		}
		schemas := map[string]spec.Schema{}
		return schemas, json.Unmarshal(text, &schemas)
	}
	return nil, fmt.Errorf("CRD %s has no schema of %s.%s", name, version, of)
}

// valuesOf returns values for a field: none, those at the edges of what the schema allows, some by chance, and some that it refuses.
// There are rules that the schema has in another language, CEL, so the server may refuse more of them.
func valuesOf(s spec.Schema, random *rand.Rand) []any {
	values := []any{nil}
	if s.Default != nil {
		values = append(values, s.Default)
	}
	switch {
	case len(s.Enum) > 0:
		values = append(append(values, s.Enum...), "another")
	case s.Extensions["x-kubernetes-int-or-string"] == true: // a quantity
		values = append(values, 0, 1<<21, "1Mi", "1.5Gi", "2Gi", fmt.Sprintf("%dGi", 3+random.IntN(9)), "1Pi", "2Pi", "much")
	case s.Type.Contains("integer"):
		least := 0
		if s.Minimum != nil {
			least = int(*s.Minimum)
		}
		most := least + 100
		if s.Maximum != nil {
			most = int(min(*s.Maximum, float64(math.MaxInt32)))
		}
		values = append(values, least-1, least, least+random.IntN(most-least+1), most, most+1)
	case s.Type.Contains("string"):
		pattern := s.Pattern
		if pattern == "" {
			pattern = "[a-z]*"
		}
		values = append(values, "", matching(pattern, random), matching(pattern, random))
		if s.MaxLength != nil {
			values = append(values, strings.Repeat("1", int(*s.MaxLength)+1))
		}
	case s.Type.Contains("boolean"):
		values = append(values, false, true)
	}
	return values
}

// matching returns a text, by chance, that matches a regular expression.
func matching(pattern string, random *rand.Rand) string {
	expression, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return pattern // in ECMA's dialect only
	}
	var text strings.Builder
	write(&text, expression.Simplify(), random)
	return text.String()
}

func write(text *strings.Builder, e *syntax.Regexp, random *rand.Rand) {
	times := 1
	switch e.Op {
	case syntax.OpLiteral:
		text.WriteString(string(e.Rune))
	case syntax.OpCharClass: // pairs: from, to
		i := 2 * random.IntN(len(e.Rune)/2)
		text.WriteRune(e.Rune[i] + random.Int32N(e.Rune[i+1]-e.Rune[i]+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		text.WriteByte('x')
	case syntax.OpAlternate:
		write(text, e.Sub[random.IntN(len(e.Sub))], random)
		return
	case syntax.OpStar:
		times = random.IntN(3)
	case syntax.OpPlus:
		times = 1 + random.IntN(2)
	case syntax.OpQuest:
		times = random.IntN(2)
	}
	for range times {
		for _, sub := range e.Sub {
			write(text, sub, random)
		}
	}
}
