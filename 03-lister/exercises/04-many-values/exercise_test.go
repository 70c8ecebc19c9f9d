package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/03-lister/exercises/04-many-values"
	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

func TestExercise(t *testing.T) { graders.ManyValues.Test(t, exercise.ByConfigMap) }
