package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/05-expired"
	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
)

func TestExercise(t *testing.T) { graders.Expired.Test(t, exercise.Mirror) }
