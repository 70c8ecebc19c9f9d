package controller

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/readfault"
	"example.com/client-go-workbook/internal/exercises/storewatch"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type decisionAnswer = func(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error

// Decision grades the answers to "When not to send again".
var Decision = grade.Exercise[decisionAnswer]{
	Cluster: true,
	Grade: func(t *grade.T, take decisionAnswer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		configMaps := typedcorev1.NewForConfigOrDie(config).ConfigMaps(namespace)
		me, other := fmt.Sprintf("anna-%d", t.Rand.IntN(1000)), fmt.Sprintf("ben-%d", t.Rand.IntN(1000))
		place := fmt.Sprintf("hall %d", t.Rand.IntN(1000)) // another key of the data
		var beforeWrite func()                             // what somebody else does just before the first write
		intercepted := testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
			if do := beforeWrite; request.Method != http.MethodGet && do != nil {
				beforeWrite = nil
				do()
			}
			return next.RoundTrip(request)
		})
		recorded, writes := testkit.Writes(intercepted)

		otherKeys := map[string]string{"place": place}
		cases := []machine{
			{"nobody holds it", nil, nil, notAtAll, me},
			{"nobody holds it, and it has other keys", otherKeys, otherKeys, notAtAll, me},
			{other + " holds it", map[string]string{"holder": other}, map[string]string{"holder": other}, notAtAll, other},
			{"you hold it", map[string]string{"holder": me}, map[string]string{"holder": me}, notAtAll, me},
		}
		for _, free := range []struct {
			what string
			data map[string]string
		}{{"", nil}, {", and it has other keys", otherKeys}, {", and its holder was empty", map[string]string{"holder": ""}}} {
			taken := map[string]string{"holder": other}
			if free.data["place"] != "" {
				taken["place"] = place
			}
			cases = append(cases,
				machine{"the store is old, and " + other + " has taken it meanwhile" + free.what, free.data, taken, notAtAll, other},
				machine{other + " takes it just before the write" + free.what, free.data, free.data, byUpdate, other},
				machine{other + " takes it just before the write, by your Take" + free.what, free.data, free.data, byTake, other},
			)
		}
		for _, similar := range []string{me + "0", me[:len(me)-1], "jo" + me, me[1:], strings.ToUpper(me)} {
			holder := map[string]string{"holder": similar}
			cases = append(cases,
				machine{similar + " holds it, and you are " + me, holder, holder, notAtAll, similar},
				machine{"the store is old, " + similar + " has taken it meanwhile, and you are " + me, nil, holder, notAtAll, similar},
			)
		}
		for i, c := range cases {
			t.Doing("Take is called, and %s", c.what)
			stored := testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("machine-%d", i)}, Data: c.stored,
			}, metav1.CreateOptions{}))(t)
			update := func(data map[string]string) {
				newer := stored.DeepCopy()
				newer.Data = data
				testkit.Must(configMaps.Update(t.Context(), newer, metav1.UpdateOptions{}))(t)
			}
			if !maps.Equal(c.stored, c.current) {
				update(c.current)
			}
			switch c.justBefore {
			case byUpdate:
				beforeWrite = func() {
					data := maps.Clone(c.current)
					if data == nil {
						data = map[string]string{}
					}
					data["holder"] = other
					update(data)
				}
			case byTake: // another process of the same program
				beforeWrite = func() {
					if err := take(t.Context(), configMaps, stored.DeepCopy(), other); err != nil {
						t.Reject("nobody holds it: Take returns nil", fmt.Sprintf("it returns: %v", err), "ConfigMapInterface.Update")
					}
				}
			}
			watched, unchanged := storewatch.Unchanged(t, recorded, stored)
			learners := typedcorev1.NewForConfigOrDie(watched).ConfigMaps(namespace)
			uid := stored.UID
			err := take(t.Context(), learners, stored, me)
			beforeWrite = nil
			sent := writes()
			now, getErr := configMaps.Get(t.Context(), fmt.Sprintf("machine-%d", i), metav1.GetOptions{})
			if apierrors.IsNotFound(getErr) || getErr == nil && now.UID != uid {
				t.Reject(c.what+": the ConfigMap is the same one", "it was deleted", "ConfigMapInterface.Update")
			}
			holder := testkit.Must(now, getErr)(t).Data["holder"]
			switch {
			case c.holder != me && holder != c.holder:
				t.Reject(fmt.Sprintf("%s: %s still holds it", c.what, c.holder), fmt.Sprintf("%s holds it: you have taken it away", holder),
					"by which version did you decide, and which version did you write to?")
			case c.holder != me && err == nil:
				look := `the section "Break it" of the chapter, "Conflict: 409"`
				if c.holder != other {
					look = "how do you compare the holder with me?"
				}
				t.Reject(c.what+": Take returns an error", "it returns nil, which means that you hold it", look)
			case c.holder == me && (err != nil || holder != me):
				t.Reject(c.what+": Take returns nil, and you hold it", fmt.Sprintf("holder is %q, and it returns: %v", holder, err),
					"ConfigMapInterface.Update")
			case now.Data["place"] != c.current["place"]:
				t.Reject(c.what+": the other keys stay", fmt.Sprintf("data is %v", now.Data), "an update replaces the whole object")
			case c.stored["holder"] != "" && len(sent) > 0:
				t.Reject(c.what+": no write is sent", "it sends "+strings.Join(sent, ", "), "what does the store say?")
			}
			unchanged()
		}

		checkHeld(t, configMaps, take, me)
		checkConflicts(t, config, configMaps, take, me)

		calls := &grade.Calls{
			Name: "Take", Config: config, Done: "you hold it", Right: readfault.Right,
			New: func(number int) grade.Case {
				name := fmt.Sprintf("machine-fails-%d", number)
				testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
					metav1.CreateOptions{}))(t)
				get := func() *corev1.ConfigMap {
					return testkit.Must(configMaps.Get(t.Context(), name, metav1.GetOptions{}))(t)
				}
				return grade.Case{
					Call: func(ctx context.Context, config *rest.Config) error {
						return take(ctx, typedcorev1.NewForConfigOrDie(config).ConfigMaps(namespace), get(), me)
					},
					Check: readfault.Check(t),
					State: func() string {
						if get().Data["holder"] != me {
							return "you do not hold it"
						}
						return "you hold it"
					},
				}
			},
		}
		calls.FailEachRequest(t)
		calls.EndContext(t)
	},
}

// checkHeld calls the answer with what the store had before an earlier call took the machine, and then with what it has later. The
// first of these calls may return an error: the answer may know no more than that what it was given is old.
func checkHeld(t *grade.T, configMaps typedcorev1.ConfigMapInterface, take decisionAnswer, me string) {
	for i, data := range []map[string]string{nil, {"place": "hall 0"}, {"holder": ""}} {
		const when = "you have taken it, and the store does not know that yet: "
		stored := testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("machine-held-%d", i)}, Data: data,
		}, metav1.CreateOptions{}))(t)
		t.Doing("%sTake returns", when)
		if err := take(t.Context(), configMaps, stored.DeepCopy(), me); err != nil {
			t.Reject("nobody holds it: Take returns nil", fmt.Sprintf("it returns: %v", err), "ConfigMapInterface.Update")
		}
		_ = take(t.Context(), configMaps, stored, me)
		now := testkit.Must(configMaps.Get(t.Context(), stored.Name, metav1.GetOptions{}))(t)
		if holder := now.Data["holder"]; holder != me || now.Data["place"] != data["place"] {
			t.Reject(when+"you still hold it, and the other keys stay", fmt.Sprintf("data is %v", now.Data),
				"after a conflict, what do you know about the holder?")
		}
		if err := take(t.Context(), configMaps, now, me); err != nil {
			t.Reject("you hold it, and now the store knows that, too: Take returns nil", fmt.Sprintf("it returns: %v", err),
				"what does the store say?")
		}
	}
}

// checkConflicts calls the answer for a machine that is free, and that somebody changes before each of the answer's writes.
func checkConflicts(t *grade.T, config *rest.Config, configMaps typedcorev1.ConfigMapInterface, take decisionAnswer, me string) {
	const when = "nobody holds it, and another key is changed before each of your writes: "
	stored := testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "machine-changes"}, Data: map[string]string{"place": "hall 0"},
	}, metav1.CreateOptions{}))(t)
	hall, deadline := 0, time.Now().Add(3*time.Second) // after that, an answer that tries again and again has no conflict
	changing := testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet && time.Now().Before(deadline) {
			hall++
			patch := fmt.Sprintf(`{"data":{"place":"hall %d"}}`, hall)
			testkit.Must(configMaps.Patch(t.Context(), stored.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
		}
		return next.RoundTrip(request)
	})
	t.Doing("%sTake returns", when)
	err := take(t.Context(), typedcorev1.NewForConfigOrDie(changing).ConfigMaps(stored.Namespace), stored, me)
	now := testkit.Must(configMaps.Get(t.Context(), stored.Name, metav1.GetOptions{}))(t)
	place := fmt.Sprintf("hall %d", hall)
	switch holder := now.Data["holder"]; {
	case err == nil && holder != me:
		t.Reject(when+"Take returns an error, or nil and you hold it", fmt.Sprintf("it returns nil, and holder is %q", holder),
			"what do you return after the last attempt? In an inner block, := declares another err")
	case now.Data["place"] != place:
		t.Reject(when+"place stays as it was written last: "+place, fmt.Sprintf("data is %v", now.Data),
			"an update replaces the whole object")
	}
}

// machine is a case: whose machine it is.
type machine struct {
	what            string
	stored, current map[string]string // what the store has, and the server
	justBefore      by                // how the other takes it just before the write
	holder          string            // who must hold it in the end
}

// by is how another program takes the machine.
type by int

const (
	notAtAll by = iota
	byUpdate
	byTake
)
