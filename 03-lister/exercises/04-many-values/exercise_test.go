package exercise_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/03-lister/exercises/04-many-values"
	answers "example.com/client-go-workbook/03-lister/exercises/answers/04-many-values"
	"example.com/client-go-workbook/03-lister/exercises/internal/podstore"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(pod *corev1.Pod) ([]string, error)

var grader = grade.Exercise[answer]{
	Learner:  exercise.ByConfigMap,
	Accepted: []answer{answers.ByConfigMap, answers.CollectsASet},
	Rejected: []grade.Rejected[answer]{
		{Name: "returns the first value only", Answer: answers.ReturnsTheFirstValueOnly, Says: "uses it in"},
		{Name: "leaves the namespace out", Answer: answers.LeavesTheNamespaceOut, Says: `its entries are ["flags-`},
		{Name: "takes every volume for a ConfigMap", Answer: answers.TakesEveryVolumeForAConfigMap, Says: "nil pointer"},
		{Name: "joins the values", Answer: answers.JoinsTheValues, Says: ",shop/"},
		{Name: "forgets the init containers", Answer: answers.ForgetsTheInitContainers, Says: "an init container"},
	},
	Grade: gradeByConfigMap,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

const index = "configMap"

func gradeByConfigMap(t *grade.T, byConfigMap answer) {
	store := podstore.New()
	if err := store.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{index: byConfigMap}); err != nil {
		t.Fatal(err)
	}
	number := t.Rand.IntN(1000)
	settings, users, flags := fmt.Sprintf("settings-%d", number), fmt.Sprintf("users-%d", number), fmt.Sprintf("flags-%d", number)

	web := newPod("shop", "web")
	web.Spec.Volumes = []corev1.Volume{volume(settings), {Name: "tmp"}, volume(users)}
	web.Spec.Volumes[1].EmptyDir = &corev1.EmptyDirVolumeSource{}
	web.Spec.Containers = []corev1.Container{{Name: "a"}, {Name: "b", EnvFrom: environment(flags)}}
	job := newPod("shop", "job")
	job.Spec.InitContainers = []corev1.Container{{Name: "init", EnvFrom: environment(users)}}
	job.Spec.Containers = []corev1.Container{{Name: "a", EnvFrom: environment(flags)}}
	bank := newPod("bank", "web")
	bank.Spec.Volumes = []corev1.Volume{volume(settings)}
	none := newPod("shop", "none")
	none.Spec.Containers = []corev1.Container{{Name: "a"}}
	for _, pod := range []*corev1.Pod{web, job, bank, none} {
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}

	inVolume, inContainer, inInit := "a volume", "a container's envFrom", "an init container's envFrom"
	check := func(configMap string, users map[string]string) {
		t.Helper()
		found, err := store.Indexer.IndexKeys(index, configMap)
		if err != nil {
			t.Fatal(err)
		}
		for pod, where := range users {
			if !slices.Contains(found, pod) {
				t.Reject(fmt.Sprintf("the index finds pod %s under %s: the pod uses it in %s", pod, configMap, where),
					fmt.Sprintf("under %s it finds %q; its entries are %q", configMap, found, entries(store)),
					`"Index functions" in the chapter's README`)
			}
		}
		for _, pod := range found {
			if users[pod] == "" {
				t.Reject(fmt.Sprintf("the index does not find pod %s under %s: the pod does not use it", pod, configMap),
					fmt.Sprintf("under %s it finds %q", configMap, found),
					`"Index functions" in the chapter's README`)
			}
		}
	}
	check("shop/"+settings, map[string]string{"shop/web": inVolume})
	check("shop/"+users, map[string]string{"shop/web": inVolume, "shop/job": inInit})
	check("shop/"+flags, map[string]string{"shop/web": inContainer, "shop/job": inContainer})
	check("bank/"+settings, map[string]string{"bank/web": inVolume})
	if got := entries(store); len(got) != 4 {
		t.Reject("4 entries in the index, one for each ConfigMap",
			fmt.Sprintf("%d entries: %q", len(got), got),
			"the values that you return")
	}

	// The pod is replaced by one of the same name with another ConfigMap.
	other := newPod("shop", "web")
	other.Spec.Volumes = []corev1.Volume{volume(flags)}
	if err := store.Update(other); err != nil {
		t.Fatal(err)
	}
	check("shop/"+settings, nil)
	check("shop/"+flags, map[string]string{"shop/web": inVolume, "shop/job": inContainer})
}

func entries(store *podstore.Store) []string {
	values := store.Indexer.ListIndexFuncValues(index)
	slices.Sort(values)
	return values
}

func newPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func volume(configMap string) corev1.Volume {
	source := corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}
	return corev1.Volume{Name: configMap, VolumeSource: corev1.VolumeSource{ConfigMap: &source}}
}

func environment(configMap string) []corev1.EnvFromSource {
	secret := &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "password"}}
	ref := &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}
	return []corev1.EnvFromSource{{SecretRef: secret}, {ConfigMapRef: ref}}
}
