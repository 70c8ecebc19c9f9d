package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/02-informer/exercises/08-remove-handler"
	graders "example.com/client-go-workbook/internal/exercises/02-informer"
)

func TestExercise(t *testing.T) { graders.RemoveHandler.Test(t, exercise.Follow) }
