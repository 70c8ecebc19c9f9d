package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/04-workqueue/exercises/07-drain"
	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
)

func TestExercise(t *testing.T) { graders.Drain.Test(t, exercise.Run) }
