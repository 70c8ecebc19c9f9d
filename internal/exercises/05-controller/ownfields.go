package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/readfault"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type ownFieldsAnswer = func(
	ctx context.Context,
	configMaps typedcorev1.ConfigMapInterface,
	namespace, name string,
	settings map[string]string,
) error

// OwnFields grades the answers to "Own fields only".
var OwnFields = grade.Exercise[ownFieldsAnswer]{
	Cluster: true,
	Grade: func(t *grade.T, applySettings ownFieldsAnswer) {
		config := testcluster.Config(t)
		callEarlier(t, config, applySettings)
		namespace := testcluster.Namespace(t, config)
		configMaps := typedcorev1.NewForConfigOrDie(config).ConfigMaps(namespace)
		name := fmt.Sprintf("settings-%d", t.Rand.IntN(1000))
		value := func() string { return fmt.Sprint(t.Rand.IntN(1000)) }
		theirKey := fmt.Sprintf("theirs-%d", t.Rand.IntN(1000))
		theirs := map[string]string{} // keys of somebody else
		somebody := func(key, value string) {
			patch := fmt.Sprintf(`{"data":{%q:%q}}`, key, value)
			testkit.Must(configMaps.Patch(t.Context(), name, types.MergePatchType, []byte(patch),
				metav1.PatchOptions{FieldManager: "somebody"}))(t)
		}
		var uid types.UID
		apply := func(when string, settings map[string]string) {
			t.Doing("ApplySettings is called %s", when)
			if err := applySettings(t.Context(), configMaps, namespace, name, maps.Clone(settings)); err != nil {
				t.Reject("ApplySettings returns nil when it is called "+when, fmt.Sprintf("it returns: %v", err),
					"metav1.ApplyOptions")
			}
			want := maps.Clone(theirs)
			maps.Copy(want, settings)
			configMap := checkSettings(t, configMaps, name, when, want)
			if uid != "" && configMap.UID != uid {
				t.Reject("called "+when+": the ConfigMap is the same one", "it was deleted, and created again", "ConfigMapInterface.Apply")
			}
			uid = configMap.UID
		}

		colour := value()
		apply("for a ConfigMap that is missing", map[string]string{
			"colour": colour, "size": value(), "weight": value(), "depth": value(),
		})
		theirs[theirKey] = value()
		somebody(theirKey, theirs[theirKey])
		apply("after somebody has added the key "+theirKey, map[string]string{
			"colour": colour, "size": value(), "weight": value(), "depth": value(),
		})
		apply("without size, weight and depth, and with the new key shape", map[string]string{"colour": colour, "shape": value()})
		somebody("colour", "changed")
		apply("after somebody has changed colour", map[string]string{"colour": colour, "shape": value()})
		theirs["size"] = value()
		somebody("size", theirs["size"])
		apply("after somebody has set size, which is not yours any more", map[string]string{"colour": colour, "shape": value()})
		apply("without settings", nil)

		same := value()
		apply("with the keys mine and same", map[string]string{"mine": value(), "same": same})
		if err := configMaps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		theirs = map[string]string{"mine": value(), "same": same}
		created := testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: theirs,
		}, metav1.CreateOptions{}))(t)
		uid = created.UID
		apply("after somebody has created it anew, with the keys mine and same", map[string]string{"colour": colour})

		checkEarlier(t, configMaps, namespace, name+"-earlier", applySettings)

		calls := &grade.Calls{
			Name: "ApplySettings", Config: config, Done: "the ConfigMap has the settings", Right: readfault.Right,
			New: func(number int) grade.Case {
				return newSettings(t, configMaps, namespace, fmt.Sprintf("%s-%d", name, number), applySettings)
			},
		}
		calls.FailEachRequest(t)
		calls.EndContext(t)
	},
}

// earlier is a call of an earlier process: the program has been started anew since. The process has it in the variable earlierVar.
type earlier struct {
	Namespace, Name string
	Settings        map[string]string
}

const earlierVar = "WORKBOOK_EARLIER_CALL"

// checkEarlier calls the answer in another process, and then in this one.
func checkEarlier(t *grade.T, configMaps typedcorev1.ConfigMapInterface, namespace, name string, applySettings ownFieldsAnswer) {
	const when = "in a later process, without the keys size and weight"
	settings := map[string]string{"colour": "red", "size": "1", "weight": "2"}
	t.Doing("ApplySettings is called in an earlier process")
	if seen, err := otherProcess(t, earlier{namespace, name, settings}); err != nil {
		t.Reject("ApplySettings returns nil when it is called in an earlier process", "it returns: "+seen, "metav1.ApplyOptions")
	}
	checkSettings(t, configMaps, name, "in an earlier process", settings)
	settings = map[string]string{"colour": "red"}
	t.Doing("ApplySettings is called %s", when)
	if err := applySettings(t.Context(), configMaps, namespace, name, maps.Clone(settings)); err != nil {
		t.Reject("ApplySettings returns nil when it is called "+when, fmt.Sprintf("it returns: %v", err), "metav1.ApplyOptions")
	}
	checkSettings(t, configMaps, name, when, settings)
}

// otherProcess starts this process again, for one call. It returns what that has printed.
func otherProcess(t *grade.T, call earlier) (printed string, err error) {
	self := testkit.Must(os.Executable())(t)
	result := testkit.Must(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	defer result.Close()
	alive, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	defer held.Close()
	cmd := exec.CommandContext(t.Context(), self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), earlierVar+"="+string(testkit.Must(json.Marshal(call))(t)))
	cmd.ExtraFiles = []*os.File{result, alive} // package grade writes its verdict to the first, and ends with the second
	output, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

// callEarlier calls the answer if this is the process that otherProcess has started, and ends it.
func callEarlier(t *grade.T, config *rest.Config, applySettings ownFieldsAnswer) {
	text := os.Getenv(earlierVar)
	if text == "" {
		return
	}
	var call earlier
	if err := json.Unmarshal([]byte(text), &call); err != nil {
		t.Fatal(err)
	}
	configMaps := typedcorev1.NewForConfigOrDie(config).ConfigMaps(call.Namespace)
	if err := applySettings(t.Context(), configMaps, call.Namespace, call.Name, call.Settings); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// newSettings makes a call in which a request fails.
func newSettings(t *grade.T, configMaps typedcorev1.ConfigMapInterface, namespace, name string, applySettings ownFieldsAnswer) grade.Case {
	settings := map[string]string{"colour": name}
	return grade.Case{
		Call: func(ctx context.Context, config *rest.Config) error {
			learners := typedcorev1.NewForConfigOrDie(config).ConfigMaps(namespace)
			return applySettings(ctx, learners, namespace, name, maps.Clone(settings))
		},
		Check: readfault.Check(t),
		State: func() string {
			configMap, err := configMaps.Get(t.Context(), name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return "there is no ConfigMap"
			case !maps.Equal(testkit.Must(configMap, err)(t).Data, settings):
				return "the ConfigMap does not have the settings"
			}
			return "the ConfigMap has the settings"
		},
	}
}

// checkSettings compares the data that the server holds with what it should be, and returns the ConfigMap.
func checkSettings(
	t *grade.T, configMaps typedcorev1.ConfigMapInterface, name, when string, want map[string]string,
) *corev1.ConfigMap {
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
	return configMap
}
