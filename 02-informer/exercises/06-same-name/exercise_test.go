package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/02-informer/exercises/06-same-name"
	graders "example.com/client-go-workbook/internal/exercises/02-informer"
)

func TestExercise(t *testing.T) { graders.SameName.Test(t, exercise.Track) }
