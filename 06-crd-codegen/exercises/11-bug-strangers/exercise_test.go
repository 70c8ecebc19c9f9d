package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/11-bug-strangers"
	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
)

func TestExercise(t *testing.T) {
	graders.BugStrangers.Test(t, graders.BugStrangersAnswer{NewDeployment: exercise.NewDeployment, NewService: exercise.NewService})
}
