package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/05-scale"
	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
)

func TestExercise(t *testing.T) {
	graders.Scale.Test(t, graders.ScaleAnswer{
		SpecReplicasPath: exercise.SpecReplicasPath, StatusReplicasPath: exercise.StatusReplicasPath,
		LabelSelectorPath: exercise.LabelSelectorPath, Selector: exercise.Selector,
	})
}
