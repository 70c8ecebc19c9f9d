package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// mutate gives the first pod of the cache another image: in place, which nobody must do, or on a copy.
//
// In place it changes the object for every reader of the cache, and for no index: those are made when an object
// comes. client-go notices if KUBE_CACHE_MUTATION_DETECTOR is true, and then panics. It keeps a copy of each object
// for that, and compares all of them every second, so it is for tests.
func (p *printer) mutate(ctx context.Context, copied bool) error {
	pods, err := p.pods.lister.List(labels.Everything())
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return errors.New("there is no pod in the cache to mutate")
	}
	set := setOf(pods)
	name := set.names()[0]
	pod := set[name]
	if copied {
		pod = pod.DeepCopy() // all of it: a copy by assignment shares its slices, maps and pointers with the original
	}
	pod.Spec.Containers[0].Image = "mutated"

	cached, err := p.pods.lister.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return err
	}
	p.line("MUTATED", "%s: image is now %s, and in the cache %s",
		name, pod.Spec.Containers[0].Image, cached.Spec.Containers[0].Image)
	if on, _ := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR")); !on {
		p.line("UNWATCHED", "the mutation detector is off: KUBE_CACHE_MUTATION_DETECTOR=true turns it on")
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(2500 * time.Millisecond):
		p.line("UNHARMED", "the mutation detector has compared twice and found the cache as it was")
	}
	return nil
}
