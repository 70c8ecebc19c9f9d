package exercise

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// SilencesAndRemovesTheHandler checks ctx in its handler, which may be past that check when ctx ends.
func SilencesAndRemovesTheHandler(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			if ctx.Err() == nil {
				fmt.Fprintln(out, "added", cache.MetaObjectToName(pod))
			}
		},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return pods.RemoveEventHandler(registration)
}

// RemovesTheHandlerFromItself lets the handler wait for its own end.
func RemovesTheHandlerFromItself(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registered := make(chan cache.ResourceEventHandlerRegistration, 1)
	removed := make(chan error, 1)
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			if ctx.Err() != nil {
				removed <- cache.ShutDownEventHandler(pods, <-registered)
				return
			}
			fmt.Fprintln(out, "added", cache.MetaObjectToName(pod))
		},
	})
	if err != nil {
		return err
	}
	registered <- registration
	return <-removed
}

// RemovesWithoutAWait does not wait for the handler's last call.
func RemovesWithoutAWait(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) { fmt.Fprintln(out, "added", cache.MetaObjectToName(pod)) },
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return pods.RemoveEventHandler(registration)
}

// SilencesTheHandler keeps the handler, which is silent.
func SilencesTheHandler(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			if ctx.Err() == nil {
				fmt.Fprintln(out, "added", cache.MetaObjectToName(pod))
			}
		},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// WaitsForTheSync waits for the handler's sync, as if that ended it.
func WaitsForTheSync(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) { fmt.Fprintln(out, "added", cache.MetaObjectToName(pod)) },
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	<-registration.HasSyncedChecker().Done()
	return nil
}

// RemovesAndSleeps hopes that the last call has ended two seconds later.
func RemovesAndSleeps(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	defer time.Sleep(2 * time.Second)
	return RemovesWithoutAWait(ctx, pods, out)
}

// SilencesRemovesAndSleeps has a handler that begins no new line, and hopes that the last one is written two seconds later.
func SilencesRemovesAndSleeps(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	defer time.Sleep(2 * time.Second)
	return SilencesAndRemovesTheHandler(ctx, pods, out)
}

// IgnoresTheError returns nil although the handler may still be there.
func IgnoresTheError(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) { fmt.Fprintln(out, "added", cache.MetaObjectToName(pod)) },
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	_ = cache.ShutDownEventHandler(pods, registration)
	return nil
}

var (
	mu     sync.Mutex
	latest cache.ResourceEventHandlerRegistration
	ended  bool
)

// RemovesTheLatestHandler keeps its registration in a variable of the package: of two users, the first to end removes the other's.
func RemovesTheLatestHandler(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) { fmt.Fprintln(out, "added", cache.MetaObjectToName(pod)) },
	})
	if err != nil {
		return err
	}
	mu.Lock()
	latest = registration
	mu.Unlock()
	<-ctx.Done()
	mu.Lock()
	registration = latest
	mu.Unlock()
	return cache.ShutDownEventHandler(pods, registration)
}

// SilencesAllHandlers has one switch for all users: the first to end silences the others, too.
func SilencesAllHandlers(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	mu.Lock()
	ended = false
	mu.Unlock()
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				fmt.Fprintln(out, "added", cache.MetaObjectToName(pod))
			}
		},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	mu.Lock()
	ended = true
	mu.Unlock()
	return cache.ShutDownEventHandler(pods, registration)
}
