package workqueue

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type updatesAnswer = func(context.Context, cache.SharedIndexInformer, func(*corev1.Pod)) error

// Updates grades the answers to "A thousand updates".
var Updates = grade.Exercise[updatesAnswer]{
	Grade: func(t *grade.T, run updatesAnswer) {
		t.Bubble(func(t *grade.T) { untilCtxEnds(t, run) })
		t.Bubble(func(t *grade.T) { longSaves(t, run) })
		t.Bubble(func(t *grade.T) { missedDeletion(t, run) })
		t.Bubble(func(t *grade.T) { afterTheInformer(t, run) })
		t.Bubble(func(t *grade.T) { podsComeAndGo(t, run) })
	},
}

const (
	manyUpdates = 1000
	updateEvery = time.Millisecond / 2   // between two updates
	saveTakes   = 100 * time.Millisecond // a save
	saveRest    = 3 * time.Second        // enough for all saves that are due
)

// untilCtxEnds grades what is saved while ctx lives, and what a second Run saves of the same pods.
func untilCtxEnds(t *grade.T, run updatesAnswer) {
	// Two pods of one name, in two namespaces. One pod stays as it is, one is deleted.
	name := fmt.Sprintf("web-%d", 10*t.Rand.IntN(100))
	one, two, same, doomed := newPod("shop", name), newPod("stock", name), newPod("shop", name+"1"), newPod("shop", name+"2")
	p := startSaving(t, run, saveTakes, serverOf(one, two, same, doomed))
	p.settle(t, "saves of the first pods")
	const addFunc = "AddEventHandler, AddFunc, and who calls save; the key has a namespace and a name"
	p.newest(t, addFunc, one, two, same, doomed)
	late := newPod("late", name)
	now := metav1.Now()
	late.DeletionTimestamp = &now // it has some time left, and changes until its end
	p.server.Add(late)
	p.settle(t, "a save of a pod that is added")
	p.newest(t, addFunc+"; a pod that is being deleted still exists", late)

	pods := []*corev1.Pod{one, two, late}
	before, ofSame := p.saves.count(), p.saves.of(same).count
	for range manyUpdates {
		i := t.Rand.IntN(len(pods))
		pods[i] = p.modify(pods[i])
		time.Sleep(updateEvery)
	}
	p.settle(t, fmt.Sprintf("saves after %d updates", manyUpdates))
	// One save that begins before the first update ends later, and one is due after the last update.
	most, count := len(pods)*(int(manyUpdates*updateEvery/saveTakes)+3), p.saves.count()-before
	if count > most {
		t.Reject(fmt.Sprintf("%d updates of %d pods in %s: at most %d saves", manyUpdates, len(pods), manyUpdates*updateEvery, most),
			fmt.Sprintf("%d saves in the first %s", count, manyUpdates*updateEvery+saveRest),
			"what is in the queue? It merges only what is equal")
	}
	const look = "each event adds the key with Add (AddRateLimited is for retries); the worker reads the pod from the store"
	p.newest(t, look, pods...)
	for i := range pods {
		pods[i] = p.modify(pods[i])
	}
	p.settle(t, "saves after one more update of each pod")
	p.newest(t, look, pods...)
	if n := p.saves.of(same).count - ofSame; n > 0 {
		t.Reject(fmt.Sprintf("pod %s has not changed: no save", cache.MetaObjectToName(same)), fmt.Sprintf("%d saves", n),
			"which keys are left after their saves?")
	}

	doomed = p.modify(doomed)
	time.Sleep(saveTakes / 2) // its save runs
	doomed = p.modify(doomed)
	time.Sleep(saveTakes / 10)
	p.server.Delete(doomed.DeepCopy())
	synctest.Wait() // the store has no such pod any more
	before = p.saves.of(doomed).count
	p.settle(t, "the worker goes on after a pod that is deleted before its turn")
	if p.saves.of(doomed).count > before {
		t.Reject(fmt.Sprintf("pod %s is deleted before its turn: it is left out", cache.MetaObjectToName(doomed)), "a save of it began",
			"what has the worker to save: the state of an event, or what the store has when it is the key's turn?")
	}
	doomed = newPod(doomed.Namespace, doomed.Name)
	p.server.Add(doomed)
	p.settle(t, "a save of a pod that is created again")
	p.newest(t, "a pod that was deleted and is created again: what does the answer remember of the first one?", doomed)
	p.cancel()
	t.Doing("Run returns when ctx has ended: ShutDown, after <-ctx.Done()")
	p.group.Wait()

	p = startSaving(t, run, saveTakes, p.server)
	p.settle(t, "saves of a second Run")
	p.newest(t, "a second Run saves all pods again: does a variable of the package know them?", append(pods, same)...)
	p.cancel()
	p.group.Wait()
	p.server.Shutdown()
}

// longSaves ends ctx while saves run that take 5 minutes and, whatever the number of workers, some keys wait.
func longSaves(t *grade.T, run updatesAnswer) {
	const long = 5 * time.Minute
	pods := []*corev1.Pod{newPod("shop", "web-1"), newPod("shop", "web-2"), newPod("shop", "web-3")}
	p := startSaving(t, run, long, serverOf(pods...))
	time.Sleep(time.Duration(1+t.Rand.IntN(200)) * time.Second)
	for i := range pods {
		pods[i] = p.modify(pods[i])
	}
	time.Sleep(long)
	p.cancel()
	t.Doing("Run returns when ctx has ended, and then the save that runs")
	time.Sleep(time.Minute)
	synctest.Wait()
	if p.now().saving {
		t.Reject("Run waits for the save that runs, and returns", "Run returned while a save ran", "what waits for the worker?")
	}
	time.Sleep(long)
	synctest.Wait()
	if _, n := p.saves.judge(); n > 0 {
		t.Reject("no save begins after ctx has ended", fmt.Sprintf("%d save(s)", n),
			"after ShutDown, Get still hands out the keys that are queued: what does the worker do then?")
	}
	if !p.now().returned {
		t.Reject("Run returns when ctx and the save that runs have ended", "it still runs", "ShutDown, after <-ctx.Done()")
	}
	p.group.Wait()
	p.server.Shutdown()
}

// missedDeletion deletes a pod while the informer has no watch, before the pod's turn: the next list shows that it is gone.
func missedDeletion(t *grade.T, run updatesAnswer) {
	const long = 5 * time.Minute
	first, second := newPod("shop", "web-1"), newPod("shop", "web-2")
	p := startSaving(t, run, long, serverOf(first, second))
	time.Sleep(time.Duration(1+t.Rand.IntN(200)) * time.Second)
	gone := p.modify(second)
	time.Sleep(time.Second)
	p.server.DeleteDropWatch(gone.DeepCopy())
	p.server.ResetWatch()
	time.Sleep(time.Minute)
	before := p.saves.of(gone).count
	time.Sleep(2 * long)
	if p.saves.of(gone).count > before {
		t.Reject(fmt.Sprintf("pod %s is gone before its turn: it is left out", cache.MetaObjectToName(gone)),
			"a save of it began: its deletion had come with a new list, not by the watch",
			"what does DeleteFunc get then? What does the store have?")
	}
	p.cancel()
	t.Doing("Run returns when ctx has ended, and then the save that runs")
	p.group.Wait()
	p.server.Shutdown()
}

// afterTheInformer calls Run when the informer has stopped already: it takes no handler any more.
func afterTheInformer(t *grade.T, run updatesAnswer) {
	server := cachetesting.NewFakeControllerSource()
	defer server.Shutdown()
	informer := cache.NewSharedIndexInformer(server, &corev1.Pod{}, 0, cache.Indexers{})
	ended, end := context.WithCancel(t.Context())
	end()
	informer.RunWithContext(ended)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- run(ctx, informer, func(*corev1.Pod) {}) }()
	const expected = "an informer that has stopped takes no handler: Run returns this error"
	t.Doing(expected)
	synctest.Wait()
	select {
	case err := <-result:
		if err == nil {
			t.Reject(expected, "Run returned nil", "the error of AddEventHandler")
		}
	default:
		t.Reject(expected, "it still runs", "the error of AddEventHandler")
	}
}

// podsComeAndGo saves and deletes pods, and measures the memory that is in use after that. Their names are long: so it is seen whether
// the answer still has them. The server keeps nothing.
func podsComeAndGo(t *grade.T, run updatesAnswer) {
	const pods, length, rounds = 100, 2000, 3
	server := watch.NewFake()
	lists := &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return server, nil },
	}
	source := cache.ToListWatcherWithWatchListSemantics(lists, noStreaming{})
	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	group.Go(func() { _ = run(ctx, informer, func(*corev1.Pod) {}) })
	var inUse [rounds]uint64
	for round := range rounds {
		t.Doing("saves of pods that come and go")
		var there []*corev1.Pod
		for i := range pods {
			pod := newPod("shop", fmt.Sprintf("%0*d", length, round*pods+i))
			pod.ResourceVersion = fmt.Sprint(2 + round*pods + i)
			server.Add(pod)
			there = append(there, pod)
		}
		time.Sleep(saveRest)
		for _, pod := range there {
			server.Delete(pod)
		}
		time.Sleep(5 * time.Minute) // the mutation detector forgets them after two to four
		goruntime.GC()
		goruntime.GC() // the first one leaves what is in a sync.Pool
		var memory goruntime.MemStats
		goruntime.ReadMemStats(&memory)
		inUse[round] = memory.HeapAlloc
	}
	const gone = (rounds - 1) * pods // since the first round
	if grown := int(inUse[rounds-1]) - int(inUse[0]); grown > gone*length/2 {
		t.Reject("a pod that is gone is forgotten",
			fmt.Sprintf("after %d more pods, which are gone, with names of %d bytes: %d KiB more memory", gone, length, grown>>10),
			"a map that has something of each pod: who takes it out when the pod is deleted?")
	}
	cancel()
	group.Wait()
}

// noStreaming is a client whose server sends a list as a list, not as the beginning of a watch.
type noStreaming struct{}

func (noStreaming) IsWatchListSemanticsUnSupported() bool { return true }

// savingProgram is an answer that runs, with a real informer, whose server is a list in memory: the network has no place in a bubble.
type savingProgram struct {
	server *cachetesting.FakeControllerSource
	cancel context.CancelFunc // ends ctx
	group  sync.WaitGroup
	saves  saves

	mu    sync.Mutex
	state savingState
}

// savingState is what an answer has come to.
type savingState struct {
	returned bool
	err      error // that it returned, and:
	saving   bool  // a save ran then
}

func (p *savingProgram) now() savingState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// serverOf returns a server that has pods.
func serverOf(pods ...*corev1.Pod) *cachetesting.FakeControllerSource {
	server := cachetesting.NewFakeControllerSource()
	for _, pod := range pods {
		server.Add(pod)
	}
	return server
}

// startSaving runs an answer with an informer of the server's pods.
func startSaving(t *grade.T, run updatesAnswer, takes time.Duration, server *cachetesting.FakeControllerSource) *savingProgram {
	ctx, cancel := context.WithCancel(t.Context())
	p := &savingProgram{server: server, cancel: cancel}
	p.saves = saves{ctx: ctx, takes: takes, all: map[cache.ObjectName]*saved{}}
	informer := cache.NewSharedIndexInformer(p.server, &corev1.Pod{}, 0, cache.Indexers{})
	p.group.Go(func() { informer.RunWithContext(ctx) })
	p.group.Go(func() {
		err := run(ctx, informer, p.saves.save)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state = savingState{returned: true, err: err, saving: p.saves.running() > 0}
	})
	return p
}

// settle waits until all saves have ended that are due.
func (p *savingProgram) settle(t *grade.T, doing string) {
	t.Helper()
	t.Doing("%s; no lock is held during a save", doing)
	time.Sleep(saveRest)
	synctest.Wait()
	if p := p.now(); p.returned {
		t.Reject("Run waits for events until ctx ends", fmt.Sprintf("it returned (%v)", p.err), "<-ctx.Done()")
	}
	if twice, _ := p.saves.judge(); twice != "" {
		t.Reject("never two saves of the same pod at the same time", twice, "Get gives a key to one worker only, until Done")
	}
}

func newPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + " " + name)}}
}

// modify gives the pod a new version.
func (p *savingProgram) modify(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	p.server.Modify(pod)
	return pod
}

// newest rejects the answer if the last save of a pod has not its newest version.
func (p *savingProgram) newest(t *grade.T, look string, pods ...*corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		version := p.saves.of(pod).version
		if version == pod.ResourceVersion {
			continue
		}
		if version == "" {
			version = "none"
		}
		t.Reject(
			fmt.Sprintf("the last save of pod %s has its newest state, version %s", cache.MetaObjectToName(pod), pod.ResourceVersion),
			"version of the last save: "+version, look,
		)
	}
}

// saves is the database.
type saves struct {
	ctx   context.Context
	takes time.Duration

	mu    sync.Mutex
	all   map[cache.ObjectName]*saved
	twice string // two saves of one pod at the same time
	late  int    // saves that began after ctx had ended
}

// saved is what the database has of a pod.
type saved struct {
	version        string
	count, running int
}

// of returns what is saved of a pod.
func (s *saves) of(pod *corev1.Pod) saved {
	s.mu.Lock()
	defer s.mu.Unlock()
	if saved, ok := s.all[cache.MetaObjectToName(pod)]; ok {
		return *saved
	}
	return saved{}
}

func (s *saves) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, saved := range s.all {
		n += saved.count
	}
	return n
}

// judge returns what is wrong with the saves.
func (s *saves) judge() (twice string, late int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.twice, s.late
}

func (s *saves) running() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, saved := range s.all {
		n += saved.running
	}
	return n
}

func (s *saves) save(pod *corev1.Pod) {
	key := cache.MetaObjectToName(pod)
	s.mu.Lock()
	if s.all[key] == nil {
		s.all[key] = &saved{}
	}
	saved := s.all[key]
	if saved.running > 0 {
		s.twice = fmt.Sprintf("two saves of %s at the same time", key)
	}
	if s.ctx.Err() != nil {
		s.late++
	}
	saved.count++
	saved.running++
	s.mu.Unlock()
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	saved.version = pod.ResourceVersion
	saved.running--
}
