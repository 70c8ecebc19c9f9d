// mutate.go: what happens when a program changes an object in the cache.
// Before: responder.go.

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

// mutate gives the first pod of the cache another image: in place, which no program is allowed to do, or on a copy.
//
// Changing it in place changes it for every reader of the cache but for no index: index entries are computed when the pod
// arrives. If KUBE_CACHE_MUTATION_DETECTOR is true, client-go keeps a copy of each object, compares the two every second,
// and panics. That is for tests.
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
		pod = pod.DeepCopy() // an assignment would share slices, maps and pointers with the original
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
		out.Line("UNHARMED", "the mutation detector has compared twice and found no change in the cache")
	}
	return nil
}
