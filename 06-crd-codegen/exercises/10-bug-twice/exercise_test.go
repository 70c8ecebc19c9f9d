package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/10-bug-twice"
	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
)

func TestExercise(t *testing.T) { graders.BugTwice.Test(t, exercise.Run) }
