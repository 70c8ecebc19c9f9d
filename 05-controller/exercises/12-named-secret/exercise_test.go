package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/05-controller/exercises/12-named-secret"
	graders "example.com/client-go-workbook/internal/exercises/05-controller"
)

func TestExercise(t *testing.T) { graders.NamedSecret.Test(t, exercise.Watch) }
