package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/03-lister/exercises/01-get"
	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

func TestExercise(t *testing.T) { graders.Get.Test(t, exercise.Image) }
