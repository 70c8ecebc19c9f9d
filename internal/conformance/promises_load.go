package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// load has hundreds of objects at once, twice, and compares what they cost with what one costs.
func load(ctx context.Context, w *World) error {
	p, err := w.startController()
	if err != nil {
		return err
	}
	one, err := w.costOf(ctx, "one", 1, w.timeout)
	if err != nil {
		return err
	}
	blind, err := w.writeBlindly(ctx, one.writes*w.objects)
	if err != nil {
		return err
	}
	w.say("one object takes %d requests. As many writes as for %d, sent blindly: %.1fs", one.requests, w.objects, blind.Seconds())
	empty, err := memoryOf(p)
	if err != nil {
		return err
	}
	memory := []float64{}
	for _, prefix := range []string{"load1", "load2"} {
		limit := 20*blind + w.timeout
		all, err := w.costOf(ctx, prefix, w.objects, limit)
		if err != nil {
			return err
		}
		each := float64(all.requests) / float64(w.objects)
		used, err := memoryOf(p)
		if err != nil {
			return err
		}
		memory = append(memory, used)
		w.say("%d objects: %.1fs, %.1f requests for each, %.0f MB", w.objects, all.took.Seconds(), each, used)
		did := fmt.Sprintf("created %d objects, counted the requests for each", w.objects)
		expected := fmt.Sprintf("%d at most: twice as many as for one alone", 2*one.requests)
		err = failed(did, expected, atMost(each, 2*float64(one.requests), expected))
		if err != nil {
			return err
		}
		if prefix == "load1" {
			p50, p99 := w.delays(prefix)
			w.figure("requests for each object", "%.1f", each)
			w.figure("from creation to "+w.resource.Children[0].Kind+", p50 and p99", "%.2f s and %.2f s", p50.Seconds(), p99.Seconds())
			if w.objects >= 300 { // of fewer, Go's garbage is more than they are
				w.figure("memory for each object", "%.0f kB", (used-empty)*1024/float64(w.objects))
			}
		}
		if err := w.deleteLoad(ctx, prefix); err != nil {
			return err
		}
	}
	limit := 1.5*memory[0] + 20
	expected := fmt.Sprintf("%.0f MB of memory at most; it was %.0f MB the first time", limit, memory[0])
	return failed(fmt.Sprintf("created %d objects, deleted them, and created as many again", w.objects),
		expected, atMost(memory[1], limit, expected))
}

// delays returns how long it took from the creation of an object to the first write of its first kind of children.
func (w *World) delays(prefix string) (p50, p99 time.Duration) {
	created, delays := map[string]time.Time{}, []time.Duration{}
	for _, r := range w.own.writes(prefix, time.Time{}) {
		if r.Verb == "create" {
			created[r.Name] = r.At
		}
	}
	for _, r := range w.tap.writes(prefix, time.Time{}) {
		if r.Resource != w.resource.children[0].Resource {
			continue
		}
		for name, at := range created {
			if r.about(name) {
				delays = append(delays, r.At.Sub(at))
				delete(created, name)
			}
		}
	}
	if len(delays) == 0 {
		return 0, 0
	}
	slices.Sort(delays)
	return delays[len(delays)/2], delays[len(delays)*99/100]
}

// atMost returns what is expected, unless there is more.
func atMost(seen, limit float64, expected string) string {
	if seen > limit {
		return fmt.Sprintf("%.1f", seen)
	}
	return expected
}

// cost is what it takes until objects are Ready.
type cost struct {
	requests, writes int
	took             time.Duration
}

// costOf creates objects, and waits until all are Ready, for at most so long, and nothing more is written.
func (w *World) costOf(ctx context.Context, prefix string, count int, limit time.Duration) (cost, error) {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", prefix, i)
	}
	start := time.Now()
	err := each(ctx, names, func(ctx context.Context, _ int, name string) error {
		_, err := w.createSample(ctx, 0, name)
		return err
	})
	if err != nil {
		return cost{}, err
	}
	err = w.awaitFor(ctx, limit, fmt.Sprintf("%d objects to be Ready", count), func(ctx context.Context) (string, error) {
		if err := pause(ctx, time.Second); err != nil { // such a list costs the server as much as hundreds of writes
			return "", err
		}
		list, err := w.owners.List(ctx, metav1.ListOptions{})
		ready := 0
		if err == nil {
			for _, d := range list.Items {
				if strings.HasPrefix(d.GetName(), prefix) && w.resource.told(&d) == isReady && w.unsettled(d.GetName()) == "" {
					ready++
				}
			}
		}
		return diffOf(fmt.Sprintf("%d are Ready", count), fmt.Sprintf("%d are Ready", ready)), err
	})
	if err != nil {
		return cost{}, about(prefix, during(fmt.Sprintf("created %d objects", count), err))
	}
	took := time.Since(start)
	if err := w.untilQuiet(ctx); err != nil {
		return cost{}, err
	}
	requests := len(w.tap.all(func(r Request) bool { return r.about(prefix) }))
	return cost{requests: requests, writes: len(w.tap.writes(prefix, start)), took: took}, nil
}

// deleteLoad deletes all objects of a load, and waits for the end of their children.
func (w *World) deleteLoad(ctx context.Context, prefix string) error {
	if err := w.owners.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	for left, last := 1, 0; left != last && left > 0; { // as long as there is progress
		last = left
		err := w.await(ctx, "the end of all children", func(ctx context.Context) (string, error) {
			left = 0
			for _, r := range w.resource.children {
				list, err := w.dynamic.Resource(r).Namespace(w.namespace).List(ctx, metav1.ListOptions{})
				if err != nil {
					return "", err
				}
				for _, o := range list.Items {
					if (Request{Name: o.GetName()}).about(prefix) {
						left++
					}
				}
			}
			if left == last {
				return fmt.Sprintf("+ %d are there", left), nil
			}
			return "", nil
		})
		if err != nil {
			return during("deleted all objects", err)
		}
	}
	return nil
}

// memoryOf returns the resident memory of a controller, and of the programs that it has started, in MB.
func memoryOf(p *Process) (sum float64, err error) {
	program, err := process.NewProcess(int32(p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading the controller's memory: %w", err)
	}
	started, _ := program.Children() // it may have none, which is an error
	for _, program := range append(started, program) {
		memory, err := program.MemoryInfo()
		if err != nil {
			return 0, fmt.Errorf("reading the controller's memory: %w", err)
		}
		sum += float64(memory.RSS) / (1 << 20)
	}
	return sum, nil
}

// writeBlindly returns the time in which the suite itself creates that many objects.
func (w *World) writeBlindly(ctx context.Context, count int) (time.Duration, error) {
	maps := w.client.CoreV1().ConfigMaps(w.namespace)
	start := time.Now()
	err := each(ctx, make([]struct{}, count), func(ctx context.Context, i int, _ struct{}) error {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("blind-%05d", i)}}
		_, err := maps.Create(ctx, o, metav1.CreateOptions{})
		return err
	})
	return time.Since(start), err
}
