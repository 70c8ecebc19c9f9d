package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/04-workqueue/exercises/06-workers"
	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
)

func TestExercise(t *testing.T) { graders.Workers.Test(t, exercise.Run) }
