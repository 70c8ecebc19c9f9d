package codegen

import (
	"context"
	crand "crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type secretAnswer = func(ctx context.Context, secrets typedcorev1.SecretInterface, name, password string) error

// Secret grades the answers to "Nothing secret in a log".
var Secret = grade.Exercise[secretAnswer]{
	Cluster: true,
	Grade:   gradeLog,
}

func gradeLog(t *grade.T, createPassword secretAnswer) {
	config := testcluster.Config(t)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json" // bodies that can be read
	namespace := testcluster.Namespace(t, config)
	secrets := typedcorev1.NewForConfigOrDie(config).Secrets(namespace)
	const all = 1 << 20 // a verbosity that no program needs: it shows each line, whatever its level is
	verbosity := all
	// call calls the answer, and looks for the password in both logs: that of ctx, and that of the process.
	call := func(ctx context.Context, config *rest.Config, name, password string) (own string, err error) {
		var log, process testkit.Buffer
		logger := func(to *testkit.Buffer) klog.Logger {
			return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(to), textlogger.Verbosity(verbosity)))
		}
		// For an answer that does not take the context's. As a contextual logger, it decides about the verbosity itself.
		klog.SetLoggerWithOptions(logger(&process), klog.ContextualLogger(true))
		err = createPassword(klog.NewContext(ctx, logger(&log)), typedcorev1.NewForConfigOrDie(config).Secrets(namespace), name, password)
		if err != nil && hasPassword(err.Error(), password) {
			t.Reject("the returned error has no password", "it has: "+shorten(err.Error()), "the caller will log it")
		}
		for _, text := range []string{log.String(), process.String()} {
			message := ""
			for line := range strings.Lines(text) {
				if _, text, found := strings.Cut(line, "] "); found && !strings.HasPrefix(line, "\t") { // a body is in lines of its own
					message = text // before it is the time
				}
				if hasPassword(line, password) {
					t.Reject("no line of the log has the password", fmt.Sprintf("at verbosity %d there is %s", verbosity, shorten(message)),
						"whose line is it: yours, or the client's, which takes the logger from the context?")
				}
			}
		}
		return log.String(), err
	}

	for _, verbosity = range []int{0, all} {
		name, password := fmt.Sprintf("root-%d-%d", verbosity, t.Rand.IntN(1000)), crand.Text()
		for _, exists := range []bool{false, true} {
			t.Doing("CreatePassword to return (the Secret exists: %t)", exists)
			log, err := call(t.Context(), config, name, password)
			switch {
			case !exists && err != nil:
				t.Reject("CreatePassword returns no error", shorten(err.Error()), "the request, and what the server says about it")
			case exists && !apierrors.IsAlreadyExists(err):
				t.Reject("CreatePassword returns the server's error, because the Secret exists", fmt.Sprintf("it returns %v", err),
					"%w in fmt.Errorf")
			case exists && !strings.Contains(err.Error(), name):
				t.Reject("the error has the name of the Secret, "+name, err.Error(), "what helps the person who reads it?")
			case !hasLine(log, name):
				t.Reject("the log of ctx has the name of the Secret, "+name,
					fmt.Sprintf("at verbosity %d no line has it (the Secret existed: %t)", verbosity, exists),
					"a log without secrets must still be of use, at any verbosity")
			case exists && !hasLine(log, name, "already exists"):
				t.Reject("the log has the server's error when the Secret could not be created, with the name",
					fmt.Sprintf("at verbosity %d no line has both \"already exists\" and %s", verbosity, name),
					"what does the operator see?")
			}
		}
		secret := testkit.Must(secrets.Get(t.Context(), name, metav1.GetOptions{}))(t)
		if string(secret.Data["password"]) != password {
			t.Reject("the Secret has the password, with the key password", "it has another one, or none",
				"Data and StringData of corev1.Secret")
		}
	}

	done := "the Secret is there"
	calls := &grade.Calls{Name: "CreatePassword", Config: config, Done: done, New: func(number int) grade.Case {
		name, password := fmt.Sprintf("case-%d-%d", number, t.Rand.IntN(1000)), crand.Text()
		return grade.Case{
			Call: func(ctx context.Context, config *rest.Config) error {
				_, err := call(ctx, config, name, password)
				return err
			},
			State: func() string {
				if _, err := secrets.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
					return "there is no Secret"
				}
				return done
			},
			Check: func(failed grade.Failed) {
				if failed.Err != nil && !strings.Contains(failed.Err.Error(), name) {
					t.Reject(failed.String()+": the error has the name of the Secret, "+name, shorten(failed.Err.Error()),
						"what helps the person who reads it?")
				}
			},
		}
	}}
	calls.Right = func(_ grade.Request, fault grade.Fault) grade.Outcome {
		if fault == grade.AnswerLost {
			return grade.NotTried // then the Secret exists, and the next call is an error, too
		}
		return grade.ErrorOrDone
	}
	calls.FailEachRequest(t)
	calls.EndContext(t)
}

// hasLine says whether one line has all words.
func hasLine(log string, words ...string) bool {
	for line := range strings.Lines(log) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			return true
		}
	}
	return false
}

// hasPassword says whether a text has a part of the password: as it is, in base64, in hexadecimal, or as numbers.
func hasPassword(text, password string) bool {
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
