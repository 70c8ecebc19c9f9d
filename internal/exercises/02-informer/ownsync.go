package informer

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podinformer"
	"example.com/client-go-workbook/internal/test/testkit"
)

type ownSyncAnswer = func(context.Context, podinformer.Informer, func(*corev1.Pod)) error

// OwnSync grades the answers to "Wait for your handler".
var OwnSync = grade.Exercise[ownSyncAnswer]{
	Grade: func(t *grade.T, load ownSyncAnswer) {
		t.Bubble(func(t *grade.T) {
			for _, deleted := range []bool{false, true} {
				gradeLoad(t, load, 5*time.Minute+time.Duration(t.Rand.Int64N(int64(10*time.Minute))), deleted)
				gradeLoad(t, load, 0, deleted)
			}
			gradeEmptyList(t, load)
			gradeLoadErrors(t, load)
		})
	},
}

// gradeLoad calls Load before the first list has come, or, if it is not late, after that. While remember runs for the first pod,
// another pod is created or deleted.
func gradeLoad(t *grade.T, load ownSyncAnswer, late time.Duration, deleted bool) {
	server := fakeserver.Start(t)
	pods := 3 + t.Rand.IntN(6)
	for i := range pods {
		server.Create(newTwin(i))
	}
	var first sync.Once
	config := testkit.Intercept(server.Config(), func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		first.Do(func() { time.Sleep(late) })
		return next.RoundTrip(request)
	})
	informer := podinformer.New(typedcorev1.NewForConfigOrDie(config).RESTClient(), 0)
	go informer.RunWithContext(t.Context())
	synctest.Wait() // without a late list, the informer has synced

	m := newMemory(t)
	all := pods
	if !deleted {
		all++
	}
	time.AfterFunc(late+m.takes/2, func() {
		if deleted {
			server.Delete(newTwin(pods - 1)) // of the first list: remember is called for it, too
		} else {
			server.Create(newTwin(pods))
		}
	})
	if err := callLoad(t, t.Context(), load, informer, m, 12*time.Hour, "Load returns when the first list is remembered"); err != nil {
		t.Reject("Load returns nil when the first list is remembered", "it returned: "+err.Error(), "the error's words")
	}
	if seen := m.size(t); seen < pods {
		t.Reject(fmt.Sprintf("all %d pods of the first list are remembered when Load returns", pods),
			fmt.Sprintf("%d of them when Load returned", seen), "chapter 2, Who has synced? What does adding a handler return?")
	}
	time.Sleep(m.takes + time.Minute)
	if m.size(t) != all {
		t.Reject("remember is called for a pod that is created while it runs for others", "it was not called",
			"which events come between two steps of Load? A handler that is added first gets all of them")
	}
	server.Create(newTwin(pods + 1))
	time.Sleep(m.takes + time.Minute)
	if m.size(t) != all+1 {
		t.Reject("remember is called for a pod that is created later", "it was not called", "the handler must stay")
	}
	server.Delete(newTwin(0))
	server.Create(newTwin(0))
	time.Sleep(m.takes + time.Minute)
	if m.size(t) != all+2 {
		t.Reject("remember is called for a pod that is created under the name of a deleted one", "it was not called",
			"what is different for two pods of one name? The informer calls AddFunc once for each pod")
	}

	stored, again := len(informer.GetStore().ListKeys()), newMemory(t)
	const expected = "a second Load of the same informer has remembered all pods of the store, too"
	if err := callLoad(t, t.Context(), load, informer, again, 12*time.Hour, expected); err != nil || again.size(t) != stored {
		t.Reject(expected, fmt.Sprintf("%d of %d when it returned, error: %v", again.size(t), stored, err),
			"what do two calls of Load share? A variable of the package?")
	}
}

// gradeEmptyList has a first list without any pod.
func gradeEmptyList(t *grade.T, load ownSyncAnswer) {
	informer := podinformer.New(fakeserver.Start(t).Core().RESTClient(), 0)
	go informer.RunWithContext(t.Context())
	const expected = "Load returns when the first list is remembered, also if no pod is in it"
	if err := callLoad(t, t.Context(), load, informer, newMemory(t), time.Hour, expected); err != nil {
		t.Reject(expected, "it returned: "+err.Error(), "the error's words")
	}
}

// gradeLoadErrors lets ctx end while Load waits, and gives Load an informer that accepts no handler.
func gradeLoadErrors(t *grade.T, load ownSyncAnswer) {
	server := fakeserver.Start(t)
	server.Create(newTwin(0))
	client := server.Core().RESTClient()
	running := podinformer.New(client, 0)
	go running.RunWithContext(t.Context())
	synctest.Wait()
	for when, informer := range map[string]podinformer.Informer{
		"before the first list came": podinformer.New(client, 0), // never runs
		"while remember was running": running,
	} {
		m := newMemory(t)
		// Not at a full second, when who polls would look at ctx. To poll every 0.1 seconds is quick enough.
		after := time.Duration(10+t.Rand.IntN(60))*time.Second + 50*time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err := callLoad(t, ctx, load, informer, m, after+120*time.Millisecond, "Load returns at once, because ctx ended "+when)
		cancel()
		if err == nil {
			t.Reject("an error, because ctx ended "+when, "Load returned nil", "what WaitFor returns")
		}
	}
	podinformer.RejectWithoutError(t, client, "Load", func(informer podinformer.Informer) error {
		return load(t.Context(), informer, newMemory(t).remember)
	})
}

// callLoad returns what Load returns within this time.
func callLoad(
	t *grade.T, ctx context.Context, load ownSyncAnswer, informer podinformer.Informer, m *memory, within time.Duration, expected string,
) error {
	returned := make(chan error, 1)
	go func() { returned <- load(ctx, informer, m.remember) }()
	select {
	case err := <-returned:
		return err
	case <-time.After(within):
		t.Reject(expected, "it still waits", "what does Load wait for, and what ends that?")
		return nil
	}
}

// memory is slow.
type memory struct {
	takes time.Duration
	mu    sync.Mutex
	pods  map[types.UID]int // how often remember has returned for each
}

func newMemory(t *grade.T) *memory {
	return &memory{takes: 2*time.Minute + time.Duration(t.Rand.Int64N(int64(3*time.Minute))), pods: map[types.UID]int{}}
}

func (m *memory) remember(pod *corev1.Pod) {
	time.Sleep(m.takes)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pods[pod.UID]++
}

// size returns how many pods are remembered: each once.
func (m *memory) size(t *grade.T) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, times := range m.pods {
		if times > 1 {
			t.Reject("remember is called once for each pod", fmt.Sprintf("%d times for one", times),
				"a new handler gets the pods of the store, too: who else calls remember?")
		}
	}
	return len(m.pods)
}

// newTwin returns one of two pods of a name, in two namespaces. The deletion of some has begun: they are pods like others.
func newTwin(number int) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("shop-%d", number%2), Name: fmt.Sprintf("web-%d", number/2)}}
	if number%3 == 1 {
		pod.DeletionTimestamp, pod.Finalizers = new(metav1.Now()), []string{"example.com/disk"}
	}
	return pod
}
