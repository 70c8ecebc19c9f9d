package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/04-workqueue/exercises/05-updates"
	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
)

func TestExercise(t *testing.T) { graders.Updates.Test(t, exercise.Run) }
