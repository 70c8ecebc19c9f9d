package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/02-informer/exercises/04-selected"
	graders "example.com/client-go-workbook/internal/exercises/02-informer"
)

func TestExercise(t *testing.T) { graders.Selected.Test(t, exercise.NewFactory) }
