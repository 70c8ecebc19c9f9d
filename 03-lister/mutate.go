package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"example.com/client-go-workbook/internal/program"
)

// mutate gives the first pod of the cache another image: in place, which nobody must do, or on a copy.
//
// In place it changes the object for every reader of the cache, and for no index: a pod's entries are made when it
// comes. client-go notices if KUBE_CACHE_MUTATION_DETECTOR is true, and panics. It has a copy of each object for that,
// and compares the two every second: it is for tests.
func mutate(ctx context.Context, pods podCache, copied bool, out *program.Printer) error {
	all, err := pods.lister.List(labels.Everything())
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("there is no pod in the cache to mutate")
	}
	set := setOf(all)
	name := set.names()[0]
	pod := set[name]
	if copied {
		pod = pod.DeepCopy() // all of it: a copy by assignment has its slices, maps and pointers in common with the original
	}
	pod.Spec.Containers[0].Image = "mutated"

	cached, err := pods.lister.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return err
	}
	out.Line("MUTATED", "%s: image is now %s, and in the cache %s",
		name, pod.Spec.Containers[0].Image, cached.Spec.Containers[0].Image)
	if on, _ := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR")); !on {
		out.Line("UNWATCHED", "the mutation detector is off: KUBE_CACHE_MUTATION_DETECTOR=true turns it on")
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(2500 * time.Millisecond):
		out.Line("UNHARMED", "the mutation detector has compared twice and found the cache as it was")
	}
	return nil
}
