package exercise

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
)

// withSelector returns the solution with another selector.
func withSelector(selector func(map[string]string) string) graders.ScaleAnswer {
	return graders.ScaleAnswer{
		SpecReplicasPath: SpecReplicasPath, StatusReplicasPath: StatusReplicasPath, LabelSelectorPath: LabelSelectorPath,
		Selector: selector,
	}
}

// HasPathsWithoutADot leaves out the dot at the beginning of each path.
var HasPathsWithoutADot = graders.ScaleAnswer{
	SpecReplicasPath: "spec.size.shards", StatusReplicasPath: "status.pods.running", LabelSelectorPath: "status.pods.selector",
	Selector: Selector,
}

// TakesOneLabelOnly takes one label: any.
var TakesOneLabelOnly = withSelector(func(labels map[string]string) string {
	for name, value := range labels {
		return name + "=" + value
	}
	return ""
})

// AsksForTheKeysOnly has a selector that does not ask for the values.
var AsksForTheKeysOnly = withSelector(func(labels map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(labels)), ",")
})

// LeavesOutEmptyValues leaves out a label with an empty value, which is one, too.
var LeavesOutEmptyValues = withSelector(func(labels map[string]string) string {
	labels = maps.Clone(labels)
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	return Selector(labels)
})

// QuotesTheValues writes each value in quotes, as in a query of a database.
var QuotesTheValues = withSelector(func(labels map[string]string) string {
	var terms []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		terms = append(terms, fmt.Sprintf("%s=%q", key, labels[key]))
	}
	return strings.Join(terms, ",")
})

// WritesASelectorInJSON writes the labels as JSON.
var WritesASelectorInJSON = withSelector(func(labels map[string]string) string {
	text, _ := json.Marshal(labels)
	return string(text)
})

// KeepsTheOrderOfTheMap has the labels in the order of the map, which differs each time.
var KeepsTheOrderOfTheMap = withSelector(func(labels map[string]string) string {
	var terms []string
	for key, value := range labels {
		terms = append(terms, key+"="+value)
	}
	return strings.Join(terms, ",")
})

// SortsByTheValues leaves two labels with the same value in the order of the map.
var SortsByTheValues = withSelector(func(labels map[string]string) string {
	keys := slices.Collect(maps.Keys(labels))
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(labels[a], labels[b]) })
	for i, key := range keys {
		keys[i] = key + "=" + labels[key]
	}
	return strings.Join(keys, ",")
})
