package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/03-lister/exercises/03-node-index"
	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

func TestExercise(t *testing.T) {
	graders.NodeIndex.Test(t, graders.NodeIndexAnswer{AddIndex: exercise.AddIndex, PodsOn: exercise.PodsOn})
}
