package exercise_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	exercise "example.com/client-go-workbook/03-lister/exercises/08-metadata"
	answers "example.com/client-go-workbook/03-lister/exercises/answers/08-metadata"
	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(ctx context.Context, config *rest.Config, ask func(count func(owner types.UID) (int, error))) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.CountByOwner,
	Accepted: []answer{answers.CountByOwner, answers.CountsAtEachEvent},
	Rejected: []grade.Rejected[answer]{
		{Name: "removes the spec after it was sent", Answer: answers.RemovesTheSpecAfterItWasSent, Says: "asks for whole pods"},
		{Name: "takes metadata for a pod", Answer: answers.TakesMetadataForAPod, Says: "is *v1.PartialObjectMetadata, not *v1.Pod"},
		{Name: "counts for every owner", Answer: answers.CountsForEveryOwner, Says: "the controller of none"},
		{Name: "sends a request for each question", Answer: answers.SendsARequestForEachQuestion, Says: "requests more"},
		{Name: "leaves the informer running", Answer: answers.LeavesTheInformerRunning, Says: "a goroutine still runs"},
	},
	Timeout: 15 * time.Second,
	Grade:   gradeCount,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradeCount(t *grade.T, countByOwner answer) {
	server := fakeserver.Start(t)
	var mu sync.Mutex
	var requests int
	var whole string // a request for whole pods
	config := testkit.Intercept(server.Config(), func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		mu.Lock()
		requests++
		accept := request.Header.Get("Accept")
		if strings.HasSuffix(request.URL.Path, "/pods") && !strings.Contains(accept, "as=PartialObjectMetadata") {
			whole = fmt.Sprintf("GET %s asks for whole pods: Accept: %s", request.URL.Path, accept)
		}
		mu.Unlock()
		return next.RoundTrip(request)
	})
	sent := func() (int, string) {
		mu.Lock()
		defer mu.Unlock()
		return requests, whole
	}

	owners := make([]types.UID, 5)
	for i := range owners {
		owners[i] = types.UID(fmt.Sprintf("uid-%d-%d", t.Rand.IntN(1000), i))
	}
	observer, nobody := types.UID("uid-of-an-observer"), types.UID("uid-of-nobody")
	want := map[types.UID]int{observer: 0, nobody: 0}
	create := func(name string, owner types.UID) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "observer", UID: observer},
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: owner, Controller: new(true)},
		}
		pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx:1.28.0"}}
		server.Create(pod)
		want[owner]++
		return pod
	}
	for i := range 20 + t.Rand.IntN(20) {
		create(fmt.Sprintf("web-%d", i), owners[t.Rand.IntN(len(owners))])
	}
	server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "alone"}})

	asked := false
	t.Doing("CountByOwner calls ask")
	// The context does not end, not even at the deadline: what still runs at the end, CountByOwner has left behind.
	err := countByOwner(context.WithoutCancel(t.Context()), config, func(count func(types.UID) (int, error)) {
		asked = true
		check := func(owner types.UID, explanation string) {
			t.Helper()
			if got, err := count(owner); err != nil || got != want[owner] {
				t.Reject(fmt.Sprintf("%d pods of owner %s%s", want[owner], owner, explanation),
					fmt.Sprintf("%d, error: %v", got, err),
					"the index function, and GetControllerOf in k8s.io/apimachinery/pkg/apis/meta/v1")
			}
		}
		for _, owner := range owners {
			check(owner, "")
		}
		check(nobody, "")
		before, whole := sent()
		if whole != "" {
			t.Reject("requests for metadata only", whole, `"Metadata-only informers" in the chapter's README`)
		}
		for range 50 {
			check(owners[t.Rand.IntN(len(owners))], "")
		}
		if after, _ := sent(); after-before > 5 {
			t.Reject("no request for a question: the store has the answer",
				fmt.Sprintf("%d requests more after 50 questions", after-before),
				`"Metadata-only informers" in the chapter's README`)
		}
		check(observer, ", an owner of each pod, but the controller of none")

		owner := owners[0]
		pod := create("later", owner)
		follow := func(change string) {
			t.Helper()
			t.Eventually(fmt.Sprintf("%d pods of owner %s, %s", want[owner], owner, change),
				"is the count computed from the informer's store each time?",
				func() (bool, string) {
					got, err := count(owner)
					return err == nil && got == want[owner], fmt.Sprintf("%d, error: %v", got, err)
				})
		}
		follow("after one was created")
		server.Delete(pod)
		want[owner]--
		follow("after that one was deleted")
	})
	if err != nil || !asked {
		t.Reject("CountByOwner calls ask, and returns no error",
			fmt.Sprintf("ask was called: %t, error: %v", asked, err),
			"WaitFor in k8s.io/client-go/tools/cache")
	}
}
