package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/03-lister/exercises/05-copy"
	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

func TestExercise(t *testing.T) { graders.Copy.Test(t, exercise.Prepare) }
