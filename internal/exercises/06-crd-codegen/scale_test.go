package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/05-scale"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/05-scale/starter"
)

func TestScale(t *testing.T) {
	e := graders.Scale
	e.RejectsStarter(t, graders.ScaleAnswer{
		SpecReplicasPath: starter.SpecReplicasPath, StatusReplicasPath: starter.StatusReplicasPath,
		LabelSelectorPath: starter.LabelSelectorPath, Selector: starter.Selector,
	})
	e.Accepts(t, graders.ScaleAnswer{
		SpecReplicasPath: answers.SpecReplicasPath, StatusReplicasPath: answers.StatusReplicasPath,
		LabelSelectorPath: answers.LabelSelectorPath, Selector: answers.Selector,
	}, graders.ScaleAnswer{
		SpecReplicasPath: answers.SpecReplicasPath, StatusReplicasPath: answers.StatusReplicasPath,
		LabelSelectorPath: answers.LabelSelectorPath, Selector: answers.TakesTheWayOfADeployment,
	})
	e.Rejects(t, "has paths without a dot", answers.HasPathsWithoutADot, "must be a simple json path starting with .")
	e.Rejects(t, "takes one label only", answers.TakesOneLabelOnly, "1 of the 2 labels only")
	e.Rejects(t, "writes a selector in JSON", answers.WritesASelectorInJSON, "is a label selector")
	e.Rejects(t, "keeps the order of the map", answers.KeepsTheOrderOfTheMap, "the same labels always give the same text")
	e.Rejects(t, "sorts by the values", answers.SortsByTheValues, "the same labels always give the same text")
	e.Rejects(t, "quotes the values", answers.QuotesTheValues, "is a label selector")
	e.Rejects(t, "leaves out empty values", answers.LeavesOutEmptyValues, "labels only")
	e.Rejects(t, "asks for the keys only", answers.AsksForTheKeysOnly, "another value")
}
