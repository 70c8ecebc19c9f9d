package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// permissions takes away one verb after the other. Nobody who uses a controller can mend what it does not name.
func permissions(ctx context.Context, w *World) error {
	want, err := w.withoutFaults(ctx)
	if err != nil {
		return err
	}
	lacking := w.tap.all(func(r Request) bool { return r.Code == http.StatusForbidden })
	if err := failed("read the answers 403 to the requests of a controller with "+w.rbac, "", list(lacking)); err != nil {
		return err
	}
	var starts, others []*Fault
	for _, rule := range w.rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				f := &Fault{Verb: verb, Resource: resource, Code: http.StatusForbidden}
				switch {
				case resource == "leases": // there is no election
				case verb == "list" || verb == "watch":
					starts = append(starts, f)
				default:
					others = append(others, f)
				}
			}
		}
	}
	others, starts = choose(w, others), choose(w, starts)
	w.say("%d verbs for one object each", len(others))
	err = each(ctx, others, func(ctx context.Context, i int, f *Fault) error {
		f.Name = fmt.Sprintf("may%02d", i)
		return w.forbid(ctx, f, want)
	})
	if err != nil {
		return err
	}
	w.say("%d verbs for all objects, from the start", len(starts))
	w.restarts = true
	for i, f := range starts {
		last := w.processes[len(w.processes)-1]
		last.kill()
		<-last.stopped
		remove := w.tap.add(f)
		if _, err := w.startController(); err != nil {
			return err
		}
		name := fmt.Sprintf("list%02d", i)
		if _, err := w.createSample(ctx, 0, name); err != nil {
			return err
		}
		err := w.untilNamed(ctx, f, name, true) // there are other ways to see all objects
		remove()
		if err != nil {
			return about(name, during(fmt.Sprintf("took away the permission to %s %s, created %s", f.Verb, f.Resource, name), err))
		}
	}
	return nil
}

// forbid takes a verb away, for one object, and gives it back.
func (w *World) forbid(ctx context.Context, f *Fault, want ends) error {
	remove := w.tap.add(f)
	defer remove()
	did := fmt.Sprintf("took away the permission to %s %s", f.Verb, f.Resource)
	if _, err := w.createSample(ctx, 0, f.Name); err != nil {
		return err
	}
	if err := w.untilNamed(ctx, f, f.Name, false); err != nil {
		return about(f.Name, during(did+", created "+f.Name, err))
	}
	remove()
	if _, _, err := w.untilReady(ctx, f.Name, want.created); err != nil {
		return about(f.Name, during(did+", and gave it back", err))
	}
	if !w.keeps() {
		return nil
	}
	return about(f.Name+"r", during(did, w.forbidUntilTheEnd(ctx, f)))
}

// forbidUntilTheEnd takes a verb away for an object whose children stay, until its end.
func (w *World) forbidUntilTheEnd(ctx context.Context, taken *Fault) error {
	f := &Fault{Name: taken.Name + "r", Verb: taken.Verb, Resource: taken.Resource, Code: taken.Code}
	remove := w.tap.add(f)
	defer remove()
	if _, err := w.createSample(ctx, 0, f.Name, w.resource.Keep); err != nil {
		return err
	}
	did := "created " + f.Name + ", with " + w.resource.Keep.String()
	if err := w.untilNamed(ctx, f, f.Name, false); err != nil {
		return during(did, err)
	}
	if err := w.delete(ctx, f.Name); err != nil {
		return err
	}
	did += ", deleted it"
	if err := w.untilNamed(ctx, f, f.Name, false); err != nil {
		return during(did, err)
	}
	remove()
	return during(did+", gave the permission back", w.untilGone(ctx, f.Name))
}

// untilNamed waits until the status of an object, or what the controller prints, says which permission is missing. If it is Ready
// or gone without a request that was refused, the permission was not needed. If mayManage is true, it may be Ready with such a request,
// too.
func (w *World) untilNamed(ctx context.Context, f *Fault, name string, mayManage bool) error {
	named := func(text string) bool {
		return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
			return strings.Contains(line, "forbidden") && strings.Contains(line, f.Resource) && strings.Contains(line, f.Name)
		})
	}
	return w.await(ctx, "a word about "+f.Resource, func(ctx context.Context) (string, error) {
		if named(w.processes[len(w.processes)-1].log()) {
			return "", nil
		}
		now := "it is gone"
		d, err := w.owners.Get(ctx, name, metav1.GetOptions{})
		if unlessGone(err) != nil {
			return "", err
		}
		if err == nil {
			now = w.resource.told(d)
			status, _, _ := unstructured.NestedMap(d.Object, "status")
			conditions, _ := status["conditions"].([]any)
			for _, condition := range conditions {
				if message := text(condition, "message"); strings.Contains(message, "forbidden") && strings.Contains(message, f.Resource) {
					return "", nil
				}
			}
		}
		refused := "nothing was refused"
		if w.tap.hit(f) != nil && !mayManage {
			refused = "a request was refused"
		} else if err != nil || now == isReady && d.GetDeletionTimestamp() == nil && w.unsettled(name) == "" {
			return "", nil
		}
		expected := fmt.Sprintf("%s is forbidden, in the status or in what the controller prints", f.Resource)
		return diffOf(expected, refused+", and the status is: "+now), nil
	})
}
