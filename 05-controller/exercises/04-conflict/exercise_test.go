package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/05-controller/exercises/04-conflict"
	graders "example.com/client-go-workbook/internal/exercises/05-controller"
)

func TestExercise(t *testing.T) { graders.Conflict.Test(t, exercise.Increment) }
