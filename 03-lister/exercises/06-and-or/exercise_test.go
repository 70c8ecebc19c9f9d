package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/03-lister/exercises/06-and-or"
	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

func TestExercise(t *testing.T) {
	graders.AndOr.Test(t, graders.AndOrAnswer{And: exercise.And, Or: exercise.Or})
}
