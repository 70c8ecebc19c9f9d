package exercise_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/05-controller/exercises/05-decision"
	answers "example.com/client-go-workbook/05-controller/exercises/answers/05-decision"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Take,
	Accepted: []answer{answers.Take, answers.DecidesAgain},
	Rejected: []grade.Rejected[answer]{
		{Name: "retries on conflict", Answer: answers.RetriesOnConflict, Says: "you have taken it away"},
		{Name: "patches without a version", Answer: answers.PatchesWithoutAVersion, Says: "you have taken it away"},
		{Name: "hides the conflict", Answer: answers.HidesTheConflict, Says: "it returns nil"},
		{Name: "decides once", Answer: answers.DecidesOnce, Says: "you have taken it away"},
		{Name: "changes the store", Answer: answers.ChangesTheStore, Says: "the store's ConfigMap has"},
	},
	Grade: func(t *grade.T, take answer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		configMaps := typedcorev1.NewForConfigOrDie(config).ConfigMaps(namespace)
		recorded, writes := testkit.Writes(config)
		learners := typedcorev1.NewForConfigOrDie(recorded).ConfigMaps(namespace)
		me, other := fmt.Sprintf("anna-%d", t.Rand.IntN(1000)), fmt.Sprintf("ben-%d", t.Rand.IntN(1000))

		for i, c := range []struct {
			what            string
			stored, current map[string]string // what the store has, and the server
			holder          string            // who must hold it in the end
		}{
			{"nobody holds it", nil, nil, me},
			{"the store is old, and " + other + " has taken it meanwhile", nil, map[string]string{"holder": other}, other},
			{other + " holds it", map[string]string{"holder": other}, map[string]string{"holder": other}, other},
			{"you hold it", map[string]string{"holder": me}, map[string]string{"holder": me}, me},
		} {
			t.Doing("Take is called, and %s", c.what)
			name := fmt.Sprintf("machine-%d", i)
			stored := testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Data: c.stored,
			}, metav1.CreateOptions{}))(t)
			if !maps.Equal(c.stored, c.current) {
				newer := stored.DeepCopy()
				newer.Data = c.current
				testkit.Must(configMaps.Update(t.Context(), newer, metav1.UpdateOptions{}))(t)
			}
			err := take(t.Context(), learners, stored, me)
			sent := writes()
			holder := testkit.Must(configMaps.Get(t.Context(), name, metav1.GetOptions{}))(t).Data["holder"]
			switch {
			case c.holder == other && holder != other:
				t.Reject(fmt.Sprintf("%s: %s still holds it", c.what, other), fmt.Sprintf("%s holds it: you have taken it away", holder),
					"by which version did you decide, and which version did you write to?")
			case c.holder == other && err == nil:
				t.Reject(c.what+": Take returns an error", "it returns nil, which means that you hold it",
					`the section "Break it" of the chapter, "Conflict: 409"`)
			case c.holder == me && (err != nil || holder != me):
				t.Reject(c.what+": Take returns nil, and you hold it", fmt.Sprintf("holder is %q, and it returns: %v", holder, err),
					"ConfigMapInterface.Update")
			case c.stored["holder"] != "" && len(sent) > 0:
				t.Reject(c.what+": no write is sent", "it sends "+strings.Join(sent, ", "), "what does the store say?")
			case !maps.Equal(stored.Data, c.stored):
				t.Reject(fmt.Sprintf("%s: the store's ConfigMap stays as it is, with data %v", c.what, c.stored),
					fmt.Sprintf("the store's ConfigMap has data %v", stored.Data), "ConfigMap.DeepCopy")
			}
		}
	},
}

func TestExercise(t *testing.T) { grader.Test(t) }

func TestGrader(t *testing.T) { grader.TestGrader(t) }
