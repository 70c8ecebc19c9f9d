package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/05-controller/exercises/03-nothing-differs"
	graders "example.com/client-go-workbook/internal/exercises/05-controller"
)

func TestExercise(t *testing.T) { graders.NothingDiffers.Test(t, exercise.EnsureService) }
