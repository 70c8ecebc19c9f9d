package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/03-closed"
	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
)

func TestExercise(t *testing.T) { graders.Closed.Test(t, exercise.Follow) }
