package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/03-lister/exercises/08-metadata"
	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

func TestExercise(t *testing.T) { graders.Metadata.Test(t, exercise.CountByOwner) }
