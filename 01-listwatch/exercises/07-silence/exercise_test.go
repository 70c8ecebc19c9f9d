package exercise_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/07-silence"
	answers "example.com/client-go-workbook/01-listwatch/exercises/answers/07-silence"
	"example.com/client-go-workbook/01-listwatch/exercises/internal/follow"
	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error)

var grader = grade.Exercise[answer]{
	Learner:  exercise.NewPods,
	Accepted: []answer{answers.NewPods, answers.BuildsATransportOfItsOwn},
	Rejected: []grade.Rejected[answer]{
		{Name: "sets the timeout of the client", Answer: answers.SetsTheTimeoutOfTheClient, Says: "although the connection works"},
		{Name: "gives reads a deadline", Answer: answers.GivesReadsADeadline, Says: "although the connection works"},
		{Name: "sets the idle time only", Answer: answers.SetsTheIdleTimeOnly, Says: "it ended after"},
		{Name: "sets the times after the client", Answer: answers.SetsTheTimesAfterTheClient, Says: "it ended after 45s"},
		{Name: "sets a duration instead of seconds", Answer: answers.SetsADurationInsteadOfSeconds, Says: "it ended after 45s"},
	},
	Grade: func(t *grade.T, newPods answer) { t.Bubble(func(t *grade.T) { gradeNewPods(t, newPods) }) },
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

const look = `"A silent connection" in the chapter's README`

func gradeNewPods(t *grade.T, newPods answer) {
	s := fakeserver.Start(t)
	silence := time.Duration(10+2*t.Rand.IntN(6)) * time.Second
	client, err := newPods(s.Config(), silence)
	if err != nil {
		t.Reject("a client", "the error "+err.Error(), look)
	}
	pods := client.Pods("default")
	begin := time.Now()
	w, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: s.Version()})
	if err != nil {
		t.Reject("a watch that opens", "the error "+err.Error(), look)
	}
	defer w.Stop()
	select {
	case <-w.ResultChan():
		t.Reject("a watch that stays open while nothing happens",
			fmt.Sprintf("it ended after %s, although the connection works", time.Since(begin)), look)
	case <-time.After(3*time.Hour + time.Second/2): // not while a ping is on its way: those leave at whole seconds
	}

	s.Create(follow.Pod("last")) // so that the last packet comes right before the silence
	<-w.ResultChan()
	if s.Silence() == 0 {
		t.Reject("a client that uses config.Dial", "it has connections of its own", "Dial in rest.Config")
	}
	silent := time.Now()
	expected := fmt.Sprintf("a watch that ends within %s after the last packet", silence)
	select {
	case <-w.ResultChan():
	case <-time.After(time.Hour):
		t.Reject(expected, "it was still open after an hour", look)
	}
	if took := time.Since(silent); took > silence {
		t.Reject(expected, fmt.Sprintf("it ended after %s", took), look)
	}
	ctx, cancel := context.WithTimeout(t.Context(), silence)
	defer cancel()
	if _, err := pods.List(ctx, metav1.ListOptions{}); err != nil {
		t.Reject("a list on a new connection", "the error "+err.Error(), look)
	}
}
