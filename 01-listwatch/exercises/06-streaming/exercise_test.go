package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/06-streaming"
	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
)

func TestExercise(t *testing.T) { graders.Streaming.Test(t, exercise.PodNames) }
