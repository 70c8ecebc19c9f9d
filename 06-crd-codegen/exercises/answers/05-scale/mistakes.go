package exercise

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// HasPathsWithoutADot leaves out the dot at the beginning of each path.
var HasPathsWithoutADot = Answer{"spec.size.shards", "status.pods.running", "status.pods.selector", Selector}

// HasNoPathToTheSelector has a selector that is never read.
var HasNoPathToTheSelector = Answer{SpecReplicasPath, StatusReplicasPath, "", Selector}

// TakesOneLabelOnly takes one label: any.
var TakesOneLabelOnly = Answer{SpecReplicasPath, StatusReplicasPath, LabelSelectorPath, func(labels map[string]string) string {
	for name, value := range labels {
		return name + "=" + value
	}
	return ""
}}

// AsksForTheKeysOnly has a selector that does not ask for the values.
var AsksForTheKeysOnly = Answer{SpecReplicasPath, StatusReplicasPath, LabelSelectorPath, func(labels map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(labels)), ",")
}}

// LeavesOutEmptyValues leaves out a label with an empty value, which is one, too.
var LeavesOutEmptyValues = Answer{SpecReplicasPath, StatusReplicasPath, LabelSelectorPath, func(labels map[string]string) string {
	labels = maps.Clone(labels)
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	return Selector(labels)
}}

// QuotesTheValues writes each value in quotes, as in a query of a database.
var QuotesTheValues = Answer{SpecReplicasPath, StatusReplicasPath, LabelSelectorPath, func(labels map[string]string) string {
	var terms []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		terms = append(terms, fmt.Sprintf("%s=%q", key, labels[key]))
	}
	return strings.Join(terms, ",")
}}

// WritesASelectorInJSON writes the labels as JSON.
var WritesASelectorInJSON = Answer{SpecReplicasPath, StatusReplicasPath, LabelSelectorPath, func(labels map[string]string) string {
	text, _ := json.Marshal(labels)
	return string(text)
}}

// KeepsTheOrderOfTheMap has the labels in the order of the map, which differs each time.
var KeepsTheOrderOfTheMap = Answer{SpecReplicasPath, StatusReplicasPath, LabelSelectorPath, func(labels map[string]string) string {
	var terms []string
	for key, value := range labels {
		terms = append(terms, key+"="+value)
	}
	return strings.Join(terms, ",")
}}

// SortsByTheValues leaves two labels with the same value in the order of the map.
var SortsByTheValues = Answer{SpecReplicasPath, StatusReplicasPath, LabelSelectorPath, func(labels map[string]string) string {
	keys := slices.Collect(maps.Keys(labels))
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(labels[a], labels[b]) })
	for i, key := range keys {
		keys[i] = key + "=" + labels[key]
	}
	return strings.Join(keys, ",")
}}
