package codegen

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
	"example.com/client-go-workbook/internal/test/testcluster"
)

type ruleAnswer = map[string]string

// Rule grades the answers to "Reject with a rule".
var Rule = grade.Exercise[ruleAnswer]{
	Cluster: true,
	Timeout: time.Minute, // it sends more requests than other graders
	Grade:   gradeRules,
}

// ruledSpec is a spec; a volumeSize of nil is left out.
type ruledSpec struct {
	Engine      string `json:"engine"`
	MinReplicas int    `json:"minReplicas"`
	MaxReplicas int    `json:"maxReplicas"`
	VolumeSize  *int   `json:"volumeSize,omitempty"`
}

func gradeRules(t *grade.T, rules ruleAnswer) {
	config := isolatedgroup.Config(t, testcluster.Config(t))
	t.Doing("the API server serves a CRD with the rules")
	if err := testcluster.InstallCRD(t.Context(), config, rulesManifest(t, rules)); apierrors.IsInvalid(err) {
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
	some := ruledSpec{engine, low, low + 1 + t.Rand.IntN(5), nil}
	with := func(change func(s *ruledSpec)) ruledSpec { s := some; change(&s); return s }
	sized := func(size int) ruledSpec { return with(func(s *ruledSpec) { s.VolumeSize = &size }) }
	tooFew := with(func(s *ruledSpec) { s.MaxReplicas = low - 1 })
	const accepted = ""
	for _, test := range []struct {
		before, after ruledSpec // before is empty if the object is created
		what          string    // has changed
		names         string    // the field that the message names, if after is rejected
	}{
		{ruledSpec{}, some, "", accepted},
		{ruledSpec{}, sized(size), "", accepted},
		{ruledSpec{}, with(func(s *ruledSpec) { s.MaxReplicas = low }), "", accepted},
		{ruledSpec{}, with(func(s *ruledSpec) { s.MinReplicas, s.MaxReplicas = 0, 0 }), "", accepted},
		{ruledSpec{}, tooFew, "", "replicas"},
		{some, tooFew, "", "replicas"},
		{some, with(func(s *ruledSpec) { s.MinReplicas = s.MaxReplicas + 1 }), "", "replicas"},
		{some, with(func(s *ruledSpec) { s.MaxReplicas += 3 }), "", accepted},
		{some, with(func(s *ruledSpec) { s.MinReplicas, s.MaxReplicas = s.MinReplicas+20, s.MaxReplicas+20 }), "", accepted},
		{some, with(func(s *ruledSpec) { s.Engine = "a" + engine }), "", "engine"},
		{sized(size), with(func(s *ruledSpec) { s.Engine, s.VolumeSize = engine+"0", new(size+1) }), "", "engine"},
		{some, with(func(s *ruledSpec) { s.Engine = "" }), "", "engine"},
		{with(func(s *ruledSpec) { s.Engine = "" }), some, "", "engine"},
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
		if test.before == (ruledSpec{}) {
			_, err = caches.Create(t.Context(), ruledObject(t, test.after), metav1.CreateOptions{DryRun: []string{"All"}})
		} else {
			when = "when it was " + specText(t, test.before)
			existing, createErr := caches.Create(t.Context(), ruledObject(t, test.before), metav1.CreateOptions{})
			if createErr != nil {
				t.Reject(specText(t, test.before)+" is accepted when the object is created", serverCause(createErr), lookAt(createErr))
			}
			changed := ruledObject(t, test.after)
			changed.SetName(existing.GetName())
			changed.SetResourceVersion(existing.GetResourceVersion())
			_, err = caches.Update(t.Context(), changed, metav1.UpdateOptions{})
		}
		what := specText(t, test.after) + test.what
		switch {
		case err != nil && !apierrors.IsInvalid(err):
			t.Fatal(err)
		case test.names == accepted && err != nil:
			t.Reject(what+" is accepted "+when, "it is rejected: "+serverCause(err), lookAt(err))
		case test.names == accepted:
		case err == nil:
			look := "which of the rules is about these fields, and what is it for these values?"
			if test.before == (ruledSpec{}) && strings.Contains(fmt.Sprint(rules), "oldSelf") {
				look = "a rule with oldSelf in it is checked on updates only"
			}
			t.Reject(what+" is rejected "+when, "the API server has accepted it", look)
		case strings.Contains(err.Error(), "no such key"):
			t.Reject(what+" is rejected "+when+" because a rule is false", "a rule cannot be evaluated: "+serverCause(err), lookAt(err))
		default:
			message := messageOf(rules, err)
			if message == "" {
				t.Reject(what+" is rejected "+when+" with a message of your rules",
					"the user sees: "+serverCause(err), "the values of the map")
			}
			if !strings.Contains(strings.ToLower(message), test.names) {
				t.Reject(what+" is rejected "+when+" with a message that names the field", "the user sees: "+message,
					"does each rule have its own message?")
			}
		}
	}
}

// serverCause is the reason for which the server has rejected an object: the rest of the error has the object itself.
func serverCause(err error) string {
	text := firstLine(err.Error())
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			text = firstLine(cause.Message)
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "Invalid value: "), `"object": `)
}

// messageOf is the message of the rule that has rejected an object; it is empty if no rule has, or if the rule has no message.
func messageOf(rules ruleAnswer, err error) string {
	for _, message := range rules {
		if message != "" && strings.HasSuffix(serverCause(err), message) {
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

func specText(t *grade.T, s ruledSpec) string {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), `"`, "")
}

func ruledObject(t *grade.T, s ruledSpec) *unstructured.Unstructured {
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

// rulesManifest is a CRD with these rules of its spec.
func rulesManifest(t *grade.T, rules ruleAnswer) []byte {
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
