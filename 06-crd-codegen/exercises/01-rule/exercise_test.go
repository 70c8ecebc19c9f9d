package exercise_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/01-rule"
	answers "example.com/client-go-workbook/06-crd-codegen/exercises/answers/01-rule"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
	"example.com/client-go-workbook/internal/test/testcluster"
)

type answer = map[string]string

var grader = grade.Exercise[answer]{
	Learner:  exercise.Rules,
	Accepted: []answer{answers.Rules, answers.AsksInAnotherWay},
	Rejected: []grade.Rejected[answer]{
		{Name: "reads a field that can be missing", Answer: answers.ReadsAFieldThatCanBeMissing, Says: "no such key: volumeSize"},
		{Name: "has one rule for all", Answer: answers.HasOneRuleForAll, Says: "when the object is created"},
		{Name: "lets volumeSize be removed", Answer: answers.LetsVolumeSizeBeRemoved, Says: "without volumeSize, is rejected"},
		{Name: "rejects by an error", Answer: answers.RejectsByAnError, Says: "cannot be evaluated"},
		{Name: "names what CEL does not know", Answer: answers.NamesWhatCELDoesNotKnow, Says: "undeclared reference to 'old'"},
		{Name: "has no messages", Answer: answers.HasNoMessages, Says: "with a message of your rules"},
		{Name: "has one message for all", Answer: answers.HasOneMessageForAll, Says: "with a message that names the field"},
		{Name: "counts a missing volumeSize as 0", Answer: answers.CountsAMissingVolumeSizeAs0, Says: "without volumeSize, is rejected"},
		{Name: "forbids one engine", Answer: answers.ForbidsOneEngine, Says: "is rejected when it was"},
	},
	Timeout: time.Minute, // it sends more requests than other graders
	Grade:   gradeRules,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

// spec is a spec; a volumeSize of nil is left out.
type spec struct {
	Engine      string `json:"engine"`
	MinReplicas int    `json:"minReplicas"`
	MaxReplicas int    `json:"maxReplicas"`
	VolumeSize  *int   `json:"volumeSize,omitempty"`
}

func gradeRules(t *grade.T, rules answer) {
	config := isolatedgroup.Config(t, testcluster.Config(t))
	t.Doing("the API server serves a CRD with the rules")
	if err := testcluster.InstallCRD(t.Context(), config, manifest(t, rules)); apierrors.IsInvalid(err) {
		_, problem, _ := strings.Cut(err.Error(), "ERROR: ")
		if problem == "" {
			problem = err.Error()
		}
		t.Reject("the API server accepts the rules", firstLine(problem),
			"in a rule there are self, oldSelf and their fields, and no others")
	} else if err != nil {
		t.Fatal(err)
	}
	caches := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{
		Group: "coolops.cn", Version: "v1", Resource: "caches"})

	low, size := 1+t.Rand.IntN(5), 10+t.Rand.IntN(50)
	engine := fmt.Sprintf("engine-%d", t.Rand.IntN(1000))
	some := spec{engine, low, low + 1 + t.Rand.IntN(5), nil}
	with := func(change func(s *spec)) spec { s := some; change(&s); return s }
	sized := func(size int) spec { return with(func(s *spec) { s.VolumeSize = &size }) }
	tooFew := with(func(s *spec) { s.MaxReplicas = low - 1 })
	const accepted = ""
	for _, test := range []struct {
		before, after spec   // before is empty if the object is created
		what          string // has changed
		names         string // the field that the message names, if after is rejected
	}{
		{spec{}, some, "", accepted},
		{spec{}, sized(size), "", accepted},
		{spec{}, with(func(s *spec) { s.MaxReplicas = low }), "", accepted},
		{spec{}, with(func(s *spec) { s.MinReplicas, s.MaxReplicas = 0, 0 }), "", accepted},
		{spec{}, tooFew, "", "replicas"},
		{some, tooFew, "", "replicas"},
		{some, with(func(s *spec) { s.MinReplicas = s.MaxReplicas + 1 }), "", "replicas"},
		{some, with(func(s *spec) { s.MaxReplicas += 3 }), "", accepted},
		{some, with(func(s *spec) { s.MinReplicas, s.MaxReplicas = s.MinReplicas+20, s.MaxReplicas+20 }), "", accepted},
		{some, with(func(s *spec) { s.Engine = "a" + engine }), "", "engine"},
		{sized(size), with(func(s *spec) { s.Engine, s.VolumeSize = engine+"0", new(size+1) }), "", "engine"},
		{some, with(func(s *spec) { s.Engine = "" }), "", "engine"},
		{with(func(s *spec) { s.Engine = "" }), some, "", "engine"},
		{sized(size), sized(size), ", unchanged,", accepted},
		{some, sized(size), ", with a new volumeSize,", accepted},
		{sized(size), sized(size + 5), ", with a greater volumeSize,", accepted},
		{sized(size), sized(size - 1), ", with a smaller volumeSize,", "volumesize"},
		{sized(size), some, ", without volumeSize,", "volumesize"},
		// A field that is missing is not the same as any number.
		{some, sized(0), ", with a new volumeSize,", accepted},
		{sized(0), some, ", without volumeSize,", "volumesize"},
		{some, sized(-size), ", with a new volumeSize,", accepted},
		{sized(-size), some, ", without volumeSize,", "volumesize"},
		{sized(-size), sized(0), ", with a greater volumeSize,", accepted},
		{sized(0), sized(-size), ", with a smaller volumeSize,", "volumesize"},
	} {
		var err error
		when := "when the object is created"
		if test.before == (spec{}) {
			_, err = caches.Create(t.Context(), object(t, test.after), metav1.CreateOptions{DryRun: []string{"All"}})
		} else {
			when = "when it was " + text(t, test.before)
			existing, createErr := caches.Create(t.Context(), object(t, test.before), metav1.CreateOptions{})
			if createErr != nil {
				t.Reject(text(t, test.before)+" is accepted when the object is created", cause(createErr), lookAt(createErr))
			}
			changed := object(t, test.after)
			changed.SetName(existing.GetName())
			changed.SetResourceVersion(existing.GetResourceVersion())
			_, err = caches.Update(t.Context(), changed, metav1.UpdateOptions{})
		}
		what := text(t, test.after) + test.what
		switch {
		case err != nil && !apierrors.IsInvalid(err):
			t.Fatal(err)
		case test.names == accepted && err != nil:
			t.Reject(what+" is accepted "+when, "it is rejected: "+cause(err), lookAt(err))
		case test.names == accepted:
		case err == nil:
			look := "which of the rules is about these fields, and what is it for these values?"
			if test.before == (spec{}) && strings.Contains(fmt.Sprint(rules), "oldSelf") {
				look = "a rule with oldSelf in it is checked on updates only"
			}
			t.Reject(what+" is rejected "+when, "the API server has accepted it", look)
		case strings.Contains(err.Error(), "no such key"):
			t.Reject(what+" is rejected "+when+" because a rule is false", "a rule cannot be evaluated: "+cause(err), lookAt(err))
		default:
			message := messageOf(rules, err)
			if message == "" {
				t.Reject(what+" is rejected "+when+" with a message of your rules", "the user sees: "+cause(err), "the values of the map")
			}
			if !strings.Contains(strings.ToLower(message), test.names) {
				t.Reject(what+" is rejected "+when+" with a message that names the field", "the user sees: "+message,
					"does each rule have its own message?")
			}
		}
	}
}

// cause is the reason for which the server has rejected an object: the rest of the error has the object itself.
func cause(err error) string {
	text := firstLine(err.Error())
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			text = firstLine(cause.Message)
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "Invalid value: "), `"object": `)
}

// messageOf is the message of the rule that has rejected an object; it is empty if no rule has, or if the rule has no message.
func messageOf(rules answer, err error) string {
	for _, message := range rules {
		if message != "" && strings.HasSuffix(cause(err), message) {
			return message
		}
	}
	return ""
}

// lookAt says where to look for the rule that has rejected too much.
func lookAt(err error) string {
	if strings.Contains(err.Error(), "no such key") {
		return "a rule that reads a missing field is an error: has() can be asked first"
	}
	return "which of the rules is about these fields, and what is it for these values?"
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return text
}

func text(t *grade.T, s spec) string {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), `"`, "")
}

func object(t *grade.T, s spec) *unstructured.Unstructured {
	data, err := json.Marshal(map[string]any{
		"apiVersion": "coolops.cn/v1", "kind": "Cache", "metadata": map[string]any{"generateName": "cache-"}, "spec": s})
	o := &unstructured.Unstructured{}
	if err == nil {
		err = json.Unmarshal(data, &o.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// manifest is a CRD with these rules of its spec.
func manifest(t *grade.T, rules answer) []byte {
	var validations []map[string]any
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		validations = append(validations, map[string]any{"rule": rule, "message": rules[rule]})
	}
	data, err := json.Marshal(validations)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: caches.coolops.cn}
spec:
  group: coolops.cn
  names: {kind: Cache, plural: caches}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [engine, minReplicas, maxReplicas]
            properties:
              engine: {type: string}
              minReplicas: {type: integer}
              maxReplicas: {type: integer}
              volumeSize: {type: integer}
            x-kubernetes-validations: %s
`, data)
}
