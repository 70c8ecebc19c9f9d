package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/04-condition"
	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
)

func TestExercise(t *testing.T) { graders.Condition.Test(t, exercise.WithReady) }
