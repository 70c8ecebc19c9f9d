package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
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
		err := w.untilNamed(ctx, f, fmt.Sprintf("list%02d", i), want)
		remove()
		if err != nil {
			return err
		}
	}
	return nil
}

// forbid takes a verb away, for one object, and gives it back.
func (w *World) forbid(ctx context.Context, f *Fault, want ends) error {
	remove := w.tap.add(f)
	defer remove()
	if err := w.untilNamed(ctx, f, f.Name, want); err != nil {
		return err
	}
	remove()
	_, _, err := w.untilReady(ctx, f.Name, want.created)
	return about(f.Name, during(fmt.Sprintf("took away the permission to %s %s, and gave it back", f.Verb, f.Resource), err))
}

// untilNamed creates a DatabaseManager, and waits until it is Ready, so that the permission was not needed, or until its status or
// what the controller prints says which one is missing.
func (w *World) untilNamed(ctx context.Context, f *Fault, name string, want ends) error {
	if _, err := w.create(ctx, name); err != nil {
		return err
	}
	named := func(text string) bool {
		return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
			return strings.Contains(line, "forbidden") && strings.Contains(line, f.Resource) && strings.Contains(line, f.Name)
		})
	}
	err := w.await(ctx, "a word about "+f.Resource, func(ctx context.Context) (string, error) {
		d, err := w.databases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		ready := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
		printed := named(w.processes[len(w.processes)-1].log())
		if told(d) == "Ready=True" || ready != nil && strings.Contains(ready.Message, "forbidden") || printed {
			return "", nil
		}
		expected := fmt.Sprintf("%s is forbidden, in the status or in what the controller prints", f.Resource)
		return diffOf(expected, "the status: "+told(d)), nil
	})
	return about(name, during(fmt.Sprintf("took away the permission to %s %s, created %s", f.Verb, f.Resource, name), err))
}
