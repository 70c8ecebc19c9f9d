package main

import (
	"context"
	"fmt"
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
	one, err := w.costOf(ctx, "one", 1)
	if err != nil {
		return err
	}
	first, err := w.costOf(ctx, "load1", w.objects)
	if err != nil {
		return err
	}
	if first.memory, err = memoryOf(p); err != nil {
		return err
	}
	if err := w.deleteLoad(ctx); err != nil {
		return err
	}
	second, err := w.costOf(ctx, "load2", w.objects)
	if err != nil {
		return err
	}
	if second.memory, err = memoryOf(p); err != nil {
		return err
	}
	blind, err := w.writeBlindly(ctx, second.writes)
	if err != nil {
		return err
	}
	w.say("one object takes %d requests; %d take %.1f and %.1f for each, %.1fs and %.1fs, %.0f and %.0f MB; the writes alone, sent blindly: %.1fs",
		one.requests, w.objects, first.each(w.objects), second.each(w.objects), first.took.Seconds(), second.took.Seconds(),
		first.memory, second.memory, blind.Seconds())
	did := fmt.Sprintf("created %d DatabaseManagers, deleted them, and created as many again; ", w.objects)
	limits := []struct {
		what        string
		seen, limit float64
	}{
		{"requests for each, the first time, at most twice those of one alone", first.each(w.objects), 2 * float64(one.requests)},
		{"requests for each, the second time", second.each(w.objects), 2 * float64(one.requests)},
		{"seconds until all are Ready, at most ten times those of the writes alone", second.took.Seconds(), 10*blind.Seconds() + 10},
		{"MB of memory, the second time, about as many as the first time", second.memory, 1.5*first.memory + 20},
	}
	for _, l := range limits {
		if l.seen > l.limit {
			err := failed(did+l.what, fmt.Sprintf("%.1f at most", l.limit), fmt.Sprintf("%.1f", l.seen))
			return about("load2", err)
		}
	}
	return w.deleteLoad(ctx)
}

// cost is what it takes until DatabaseManagers are Ready.
type cost struct {
	requests, writes int
	took             time.Duration
	memory           float64 // in MB
}

func (c cost) each(count int) float64 { return float64(c.requests) / float64(count) }

// costOf creates DatabaseManagers, and waits until all are Ready and nothing more is written.
func (w *World) costOf(ctx context.Context, prefix string, count int) (cost, error) {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", prefix, i)
	}
	start := time.Now()
	err := each(ctx, names, func(ctx context.Context, _ int, name string) error {
		_, err := w.create(ctx, name)
		return err
	})
	if err != nil {
		return cost{}, err
	}
	ready := 0
	for last := -1; last < ready && ready < count; { // as long as there is progress
		last = ready
		err = w.await(ctx, fmt.Sprintf("more than %d of %d to be Ready", last, count), func(ctx context.Context) (string, error) {
			list, err := w.databases.List(ctx, metav1.ListOptions{})
			if err != nil {
				return "", err
			}
			ready = 0
			for _, d := range list.Items {
				if strings.HasPrefix(d.Name, prefix) && told(&d) == "Ready=True" {
					ready++
				}
			}
			if ready == last {
				return fmt.Sprintf("+ %d are Ready", ready), nil
			}
			return "", nil
		})
		if err != nil {
			return cost{}, about(prefix, during(fmt.Sprintf("created %d DatabaseManagers", count), err))
		}
	}
	took := time.Since(start)
	if err := w.untilQuiet(ctx); err != nil {
		return cost{}, err
	}
	requests := len(w.tap.all(func(r Request) bool { return r.about(prefix) }))
	return cost{requests: requests, writes: len(w.tap.writes(prefix, start)), took: took}, nil
}

// deleteLoad deletes all DatabaseManagers, and waits for the end of their children.
func (w *World) deleteLoad(ctx context.Context) error {
	if err := w.databases.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	for left, last := 1, 0; left != last && left > 0; { // as long as there is progress
		last = left
		err := w.await(ctx, "the end of all children", func(ctx context.Context) (string, error) {
			left = 0
			for _, r := range childResources {
				list, err := w.dynamic.Resource(r).Namespace(w.namespace).List(ctx, metav1.ListOptions{})
				if err != nil {
					return "", err
				}
				left += len(list.Items)
			}
			if left == last {
				return fmt.Sprintf("+ %d are there", left), nil
			}
			return "", nil
		})
		if err != nil {
			return during("deleted all DatabaseManagers", err)
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
