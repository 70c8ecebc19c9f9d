package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/05-controller/exercises/06-own-fields"
	graders "example.com/client-go-workbook/internal/exercises/05-controller"
)

func TestExercise(t *testing.T) { graders.OwnFields.Test(t, exercise.ApplySettings) }
