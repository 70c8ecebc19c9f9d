// Package testkit has what the tests of several chapters need: waiting for a condition ([Await]), output that several
// goroutines write ([Buffer]), the chapter's program as a process ([Program], [Start]), and requests that a test reads,
// changes or answers itself ([Intercept], [RoundTripper]). [Overlay] has go build take a changed file, [Module] finds a source.
//
// It knows nothing about clusters. Package testcluster gives a test its API server.
package testkit

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"sigs.k8s.io/yaml"
)

// limit is the time after which a test no longer waits for a condition. It costs time only in a test that fails, so it is long
// enough for a busy machine.
const limit = 5 * time.Minute

// polls are the times between two checks of a condition. They become longer: twenty tests that ask the same API server a hundred
// times a second keep it busy with nothing else.
var polls = wait.Backoff{Duration: 5 * time.Millisecond, Factor: 1.2, Steps: 100, Cap: 100 * time.Millisecond}

// Await waits until the condition is true. After five minutes it ends the test with what it has waited for and the last
// state: pointers to the variables that the condition sets, or anything else that shows why it is still false.
func Await(t testing.TB, what string, condition func() bool, state ...any) {
	t.Helper()
	await(t, limit, what, condition, state...)
}

func await(t testing.TB, limit time.Duration, what string, condition func() bool, state ...any) {
	t.Helper()
	next := polls
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(next.Step()) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s%s", limit, what, describe(state))
		}
	}
}

func describe(state []any) string {
	var b strings.Builder
	for _, s := range state {
		fmt.Fprintf(&b, "\n%s", strings.TrimSuffix(text(s), "\n"))
	}
	if b.Len() == 0 {
		return ""
	}
	return "; the last state:" + b.String()
}

// text returns the value behind a pointer as text: an API object as YAML, since %v prints the addresses of its fields.
func text(s any) string {
	if v := reflect.ValueOf(s); v.Kind() == reflect.Pointer && !v.IsNil() {
		switch v.Elem().Kind() {
		case reflect.Pointer, reflect.Interface: // a pointer to a variable, which has an object or an error
			return text(v.Elem().Interface())
		}
	}
	if object, ok := s.(runtime.Object); ok {
		if yaml, err := yaml.Marshal(object); err == nil {
			return string(yaml)
		}
	}
	return strings.TrimPrefix(fmt.Sprintf("%+v", s), "&")
}

// Context returns ctx with a logger that logs to the test: go test shows it with that test, and only if the test fails.
func Context(ctx context.Context, t testing.TB) context.Context {
	return klog.NewContext(ctx, ktesting.NewLogger(t, ktesting.NewConfig(ktesting.Verbosity(0))))
}

// Must returns the value of a call, and ends the test if the call has failed: Must(pods.Get(ctx, "a", options))(t).
func Must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
