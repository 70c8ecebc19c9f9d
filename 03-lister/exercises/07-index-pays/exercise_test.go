package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/03-lister/exercises/07-index-pays"
	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

func TestExercise(t *testing.T) {
	graders.IndexPays.Test(t, graders.IndexPaysAnswer{AddIndex: exercise.AddIndex, Find: exercise.Find})
}
