package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/06-secret"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/06-secret/starter"
)

func TestSecret(t *testing.T) {
	e := graders.Secret
	e.RejectsStarter(t, starter.CreatePassword)
	e.Accepts(t, answers.CreatePassword, answers.SilencesTheClient)
	e.Rejects(t, "logs the object for debugging", answers.LogsTheObjectForDebugging, "The Secret")
	e.Rejects(t, "returns the object in the error", answers.ReturnsTheObjectInTheError, "the returned error")
	e.Rejects(t, "does not log that it has failed", answers.DoesNotLogThatItHasFailed, "the log has the server's error")
}
