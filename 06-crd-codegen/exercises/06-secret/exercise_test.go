package exercise_test

import (
	"context"
	crand "crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/06-secret"
	answers "example.com/client-go-workbook/06-crd-codegen/exercises/answers/06-secret"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(ctx context.Context, secrets typedcorev1.SecretInterface, name, password string) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.CreatePassword,
	Accepted: []answer{answers.CreatePassword, answers.SilencesTheClient},
	Rejected: []grade.Rejected[answer]{
		{Name: "cleans its own line only", Answer: answers.CleansItsOwnLineOnly, Says: "Request Body"},
		{Name: "gives the client another context", Answer: answers.GivesTheClientAnotherContext, Says: "Request Body"},
		{Name: "logs the object for debugging", Answer: answers.LogsTheObjectForDebugging, Says: "The Secret"},
		{Name: "returns the object in the error", Answer: answers.ReturnsTheObjectInTheError, Says: "the returned error"},
		{Name: "logs nothing at all", Answer: answers.LogsNothingAtAll, Says: "no line has it"},
	},
	Grade: gradeLog,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradeLog(t *grade.T, createPassword answer) {
	config := testcluster.Config(t)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json" // bodies that can be read
	secrets := typedcorev1.NewForConfigOrDie(config).Secrets(testcluster.Namespace(t, config))
	name, password := fmt.Sprintf("root-%d", t.Rand.IntN(1000)), crand.Text()

	for _, exists := range []bool{false, true} {
		var log testkit.Buffer
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log), textlogger.Verbosity(10)))
		// For an answer that does not take the context's. As a contextual logger, it decides about the verbosity itself.
		klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
		t.Doing("CreatePassword to return (the Secret exists: %t)", exists)
		err := createPassword(klog.NewContext(t.Context(), logger), secrets, name, password)
		switch {
		case !exists && err != nil:
			t.Reject("CreatePassword returns no error", shorten(err.Error()), "the request, and what the server says about it")
		case exists && !apierrors.IsAlreadyExists(err):
			t.Reject("CreatePassword returns the server's error, because the Secret exists", fmt.Sprintf("it returns %v", err),
				"%w in fmt.Errorf")
		case exists && !strings.Contains(err.Error(), name):
			t.Reject("the error has the name of the Secret, "+name, err.Error(), "what helps the person who reads it?")
		case exists && has(err.Error(), password):
			t.Reject("the returned error has no password", "it has: "+shorten(err.Error()), "the caller will log it")
		}
		named, message := false, ""
		for line := range strings.Lines(log.String()) {
			if _, text, found := strings.Cut(line, "] "); found && !strings.HasPrefix(line, "\t") { // a body is in lines of its own
				message = text // before it is the time
			}
			if has(line, password) {
				t.Reject("no line of the log has the password", "at verbosity 10 there is "+shorten(message),
					"whose line is it: yours, or the client's, which takes the logger from the context?")
			}
			named = named || strings.Contains(line, name)
		}
		if !named {
			t.Reject("the log has the name of the Secret, "+name, fmt.Sprintf("no line has it (the Secret existed: %t)", exists),
				"a log without secrets must still be of use")
		}
	}
	secret := testkit.Must(secrets.Get(t.Context(), name, metav1.GetOptions{}))(t)
	found := false
	for _, value := range secret.Data {
		found = found || string(value) == password
	}
	if !found {
		t.Reject("the Secret has the password", "it has another one, or none", "Data and StringData of corev1.Secret")
	}
}

// has says whether a text has a part of the password: as it is, in base64, in hexadecimal, or as numbers.
func has(text, password string) bool {
	for _, form := range []string{
		password,
		base64.StdEncoding.EncodeToString([]byte(password)),
		hex.EncodeToString([]byte(password)),
		strings.Trim(fmt.Sprint([]byte(password)), "[]"),
	} {
		const part = 12
		for i := range len(form) - part {
			if strings.Contains(text, form[i:i+part]) {
				return true
			}
		}
	}
	return false
}

func shorten(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\n", " "))
	if len(text) > 160 {
		text = text[:160] + " ..."
	}
	return text
}
