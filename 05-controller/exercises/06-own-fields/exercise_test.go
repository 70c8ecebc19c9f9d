package exercise_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/05-controller/exercises/06-own-fields"
	answers "example.com/client-go-workbook/05-controller/exercises/answers/06-own-fields"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(
	ctx context.Context,
	configMaps typedcorev1.ConfigMapInterface,
	namespace, name string,
	settings map[string]string,
) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.ApplySettings,
	Accepted: []answer{answers.ApplySettings, answers.RemembersItsKeys},
	Rejected: []grade.Rejected[answer]{
		{Name: "replaces the data", Answer: answers.ReplacesTheData, Says: "theirs is not there"},
		{Name: "merges", Answer: answers.Merges, Says: "size is "},
		{Name: "does not force", Answer: answers.DoesNotForce, Says: `conflict with "somebody"`},
		{Name: "extracts and adds", Answer: answers.ExtractsAndAdds, Says: "size is "},
		{Name: "has a manager for each call", Answer: answers.HasAManagerForEachCall, Says: "size is "},
	},
	Grade: func(t *grade.T, applySettings answer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		configMaps := typedcorev1.NewForConfigOrDie(config).ConfigMaps(namespace)
		name := fmt.Sprintf("settings-%d", t.Rand.IntN(1000))
		value := func() string { return fmt.Sprint(t.Rand.IntN(1000)) }
		somebody := func(patch string) {
			testkit.Must(configMaps.Patch(t.Context(), name, types.MergePatchType, []byte(patch),
				metav1.PatchOptions{FieldManager: "somebody"}))(t)
		}
		theirs := map[string]string{}
		apply := func(when string, settings map[string]string) {
			t.Doing("ApplySettings is called %s", when)
			if err := applySettings(t.Context(), configMaps, namespace, name, maps.Clone(settings)); err != nil {
				t.Reject("ApplySettings returns nil when it is called "+when, fmt.Sprintf("it returns: %v", err),
					"metav1.ApplyOptions")
			}
			want := maps.Clone(theirs)
			maps.Copy(want, settings)
			check(t, configMaps, name, when, want)
		}

		colour := value()
		apply("for a ConfigMap that is missing", map[string]string{"colour": colour, "size": value()})
		theirs["theirs"] = value()
		somebody(fmt.Sprintf(`{"data":{"theirs":%q}}`, theirs["theirs"]))
		apply("after somebody has added the key theirs", map[string]string{"colour": colour, "size": value()})
		apply("without size, and with the new key shape", map[string]string{"colour": colour, "shape": value()})
		somebody(`{"data":{"colour":"changed"}}`)
		apply("after somebody has changed colour", map[string]string{"colour": colour, "shape": value()})
	},
}

// check compares the data that the server holds with what it should be.
func check(t *grade.T, configMaps typedcorev1.ConfigMapInterface, name, when string, want map[string]string) {
	configMap, err := configMaps.Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		t.Reject("the server has ConfigMap "+name, "it has none", "ConfigMapInterface.Apply")
	}
	got := testkit.Must(configMap, err)(t).Data
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Reject(fmt.Sprintf("called %s: %s is %s", when, key, want[key]), fmt.Sprintf("%s is %s", key, orNone(got[key])),
				`the section "See it" of the chapter, "It repairs drift"`)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			t.Reject(fmt.Sprintf("called %s: %s is gone", when, key), fmt.Sprintf("%s is %s", key, got[key]),
				"which fields does an apply remove, and how does the server know them? metav1.ApplyOptions.FieldManager")
		}
	}
}

func orNone(value string) string {
	if value == "" {
		return "not there"
	}
	return value
}

func TestExercise(t *testing.T) { grader.Test(t) }

func TestGrader(t *testing.T) { grader.TestGrader(t) }
