package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"example.com/client-go-workbook/internal/fielddiff"
)

// step is one change of an object, or of a child.
type step struct {
	kind  string // of the child; empty: the object
	patch string // a merge patch of the object, or a JSON patch of the child
}

func (s step) String() string { return strings.TrimSpace(s.kind + " " + s.patch) }

// walk takes objects through steps.
type walk struct {
	*World
	fields []field

	mu       sync.Mutex
	fresh    map[string]string // the state of the children of a new object, by its spec
	accepted int
	refused  int
}

// transitions walks over what the CRD's schema allows, by chance, and changes children in between.
func transitions(ctx context.Context, w *World) error {
	fields, err := w.fields(ctx)
	if err != nil {
		return err
	}
	if _, err := w.startController(); err != nil {
		return err
	}
	x := &walk{World: w, fields: fields, fresh: map[string]string{}}
	const walkers = 4
	steps := w.steps
	if w.sample > 0 {
		steps = 4 * w.sample
	}
	err = each(ctx, make([]struct{}, walkers), func(ctx context.Context, i int, _ struct{}) error {
		name := fmt.Sprintf("walk%d", i)
		random := rand.New(rand.NewPCG(w.seed, uint64(i+1)))
		taken, err := x.walkAtRandom(ctx, name, i, random, steps/walkers)
		var failure *Failure
		if !errors.As(err, &failure) {
			return err
		}
		w.say("%s has failed after %d steps: looking for the fewest that fail", name, len(taken))
		return x.shorten(ctx, name, i, taken, failure)
	})
	w.say("%d steps were accepted, %d were refused by the server; %d specs were compared with new objects",
		x.accepted, x.refused, len(x.fresh))
	return err
}

// walkAtRandom takes steps until one fails, and returns them, without those that the server has refused.
func (x *walk) walkAtRandom(
	ctx context.Context, name string, sample int, random *rand.Rand, count int,
) (taken []step, err error) {
	if err := x.begin(ctx, name, sample); err != nil {
		return nil, err
	}
	for len(taken) < count {
		s, err := x.nextStep(ctx, name, random)
		if err != nil {
			return taken, err
		}
		switch accepted, err := x.take(ctx, name, s); {
		case err != nil:
			return append(taken, s), err
		case accepted:
			taken = append(taken, s)
		}
	}
	return taken, x.delete(ctx, name)
}

// begin creates the object, like one of the samples.
func (x *walk) begin(ctx context.Context, name string, sample int) error {
	if _, err := x.createSample(ctx, sample, name); err != nil {
		return err
	}
	_, _, err := x.untilReady(ctx, name, "")
	return err
}

// nextStep returns a change of one or two fields of the spec, or of a field of a child.
func (x *walk) nextStep(ctx context.Context, name string, random *rand.Rand) (step, error) {
	if random.IntN(3) == 0 {
		return x.edit(ctx, name, random)
	}
	if len(x.fields) == 0 {
		return step{patch: "{}"}, nil
	}
	changes := patch{}
	for range 1 + random.IntN(2) {
		f := x.fields[random.IntN(len(x.fields))]
		values := f.values
		if len(values) == 0 {
			values = valuesOf(f.schema, random)
		}
		of, _ := changes[f.of].(map[string]any)
		if of == nil {
			of = map[string]any{}
			changes[f.of] = of
		}
		of[f.name] = values[random.IntN(len(values))]
	}
	return step{patch: changes.String()}, nil
}

// edit returns a change of one child by somebody else: of a field that the controller has set; or an element of a list that is there
// twice, of which the server only warns.
func (x *walk) edit(ctx context.Context, name string, random *rand.Rand) (step, error) {
	d, err := x.owners.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return step{}, err
	}
	children, err := x.children(ctx, d)
	if err != nil || len(children) == 0 {
		return step{patch: "{}"}, err
	}
	child := children[random.IntN(len(children))]
	size, isClaim, _ := unstructured.NestedString(child.Object, "spec", "resources", "requests", "storage")
	if x.resource.isDatabaseManager() && isClaim {
		asked, _, _ := unstructured.NestedFieldNoCopy(d.Object, "spec", "storageSize")
		want, err := resource.ParseQuantity(fmt.Sprint(asked))
		if has, hasErr := resource.ParseQuantity(size); err != nil || hasErr != nil || has.Cmp(want) != 0 {
			return step{patch: "{}"}, nil // the server refuses the size, and so each apply
		}
	}
	fields := x.ownedFields(&child)
	if len(fields) == 0 {
		return step{patch: "{}"}, nil
	}
	pointer, value, found := fielddiff.Find(child.Object, fields[random.IntN(len(fields))])
	if !found || len(child.GetOwnerReferences()) == 0 && strings.HasPrefix(pointer, "/metadata/labels/") {
		return step{patch: "{}"}, nil // it has changed meanwhile; or it would be nobody's
	}
	others := othersOf(value)
	patch := map[string]any{"op": "remove", "path": pointer}
	if i := random.IntN(len(others) + 1); i < len(others) {
		patch = map[string]any{"op": "replace", "path": pointer, "value": others[i]}
	}
	containers, _, _ := unstructured.NestedSlice(child.Object, "spec", "template", "spec", "containers")
	if len(containers) > 0 && random.IntN(3) == 0 {
		container, _ := containers[0].(map[string]any)
		if variables, _ := container["env"].([]any); len(variables) > 0 {
			variable, _ := variables[random.IntN(len(variables))].(map[string]any)
			twice := map[string]any{"name": variable["name"], "value": "twice"}
			patch = map[string]any{"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": twice}
		}
	}
	text, err := json.Marshal([]any{patch})
	return step{child.GetKind(), string(text)}, err
}

// take takes a step, and waits until the children are like those of a new object with the same spec. The server may refuse
// the step.
func (x *walk) take(ctx context.Context, name string, s step) (accepted bool, err error) {
	d, err := x.owners.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	if s.kind == "" {
		err = x.patch(ctx, name, s.patch)
	} else {
		err = x.patchKind(ctx, d, s)
	}
	refused := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err)
	if err != nil && !refused {
		return false, fmt.Errorf("%s: %w", s, err)
	}
	x.mu.Lock()
	if refused {
		x.refused++
	} else {
		x.accepted++
	}
	x.mu.Unlock()
	if refused {
		return false, nil
	}
	if d, err = x.owners.Get(ctx, name, metav1.GetOptions{}); err != nil {
		return true, err
	}
	want, err := x.stateOfNew(ctx, d)
	if err != nil {
		return true, err
	}
	const what = " to have the children of a new object with its spec"
	begin := time.Now()
	differs := func(ctx context.Context) (string, error) {
		now, err := x.stateOfChildren(ctx, name)
		return diffOf(want, now), err
	}
	err = x.await(ctx, name+what, differs)
	isRefused := func(r Request) bool { return r.Code >= http.StatusBadRequest && r.Code != http.StatusConflict }
	if errors.As(err, new(*Failure)) && slices.ContainsFunc(x.tap.writes(name, begin), isRefused) {
		// What the spec asks for cannot be done. So the controller tries again ever later, also what can be done.
		err = x.awaitFor(ctx, time.Minute, name+what, differs)
	}
	return true, about(name, err)
}

// patchKind patches the child of a kind.
func (x *walk) patchKind(ctx context.Context, d metav1.Object, s step) error {
	children, err := x.children(ctx, d)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: manager + "-other"}
	for _, child := range children {
		if child.GetKind() == s.kind {
			_, err := x.objectsOf(&child).Patch(ctx, child.GetName(), types.JSONPatchType, []byte(s.patch), options)
			return err
		}
	}
	return nil
}

// stateOfChildren returns the children as text. A claim's size is left out: many storage classes cannot change it.
func (x *walk) stateOfChildren(ctx context.Context, name string) (string, error) {
	d, err := x.owners.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	children, err := x.children(ctx, d)
	texts := []string{}
	if behind := x.behind(d); behind != "" {
		texts = append(texts, behind+"\n")
	}
	for _, o := range children {
		if o.GetKind() == "PersistentVolumeClaim" {
			unstructured.RemoveNestedField(o.Object, "spec", "resources")
		}
		texts = append(texts, x.normal(d, &o))
	}
	slices.Sort(texts)
	return strings.Join(texts, "---\n"), err
}

// behind says that a controller has not yet done what the spec asks for: by the status, or as it still writes.
func (x *walk) behind(d *unstructured.Unstructured) string {
	if behind := x.resource.behind(d); behind != "" {
		return behind
	}
	return x.unsettled(d.GetName())
}

// stateOfNew returns the state of the children of a new object with the spec of d.
func (x *walk) stateOfNew(ctx context.Context, d *unstructured.Unstructured) (string, error) {
	content := patch(d.DeepCopy().Object)
	content["metadata"] = map[string]any{"labels": d.GetLabels()}
	delete(content, "status")
	key := strings.ReplaceAll(content.String(), d.GetName(), "{name}")
	x.mu.Lock()
	state, known := x.fresh[key]
	name := fmt.Sprintf("new%dof%s", len(x.fresh), d.GetName())
	x.mu.Unlock()
	if known {
		return state, nil
	}
	same := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(key, "{name}", name)), &same.Object); err != nil {
		return "", err
	}
	same.SetName(name)
	if _, err := x.owners.Create(ctx, same, metav1.CreateOptions{FieldManager: manager}); err != nil {
		return "", err
	}
	last := "" // a controller can say that it has seen the generation, and go on to create children
	err := x.await(ctx, "the children of the new "+name, func(ctx context.Context) (string, error) {
		d, err := x.owners.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if behind := x.behind(d); behind != "" {
			return diffOf("", behind), nil
		}
		if state, err = x.stateOfChildren(ctx, name); err != nil {
			return "", err
		}
		before := last
		last = state
		return diffOf(before, state), nil
	})
	if err != nil {
		return "", about(name, during("created an object with "+key, err))
	}
	x.mu.Lock()
	x.fresh[key] = state
	x.mu.Unlock()
	if err := x.delete(ctx, name); err != nil || !x.keeps() {
		return state, err
	}
	if err := x.untilGone(ctx, name); err != nil {
		return state, err
	}
	return state, x.deleteChildren(ctx, name, "") // so that the lists of children stay short
}

// shorten looks for fewer steps that fail, too: without one half of them, a quarter, and so on, as delta debugging does.
func (x *walk) shorten(ctx context.Context, name string, sample int, steps []step, failure *Failure) error {
	end, tries := time.Now().Add(time.Minute), 0
	for size := max(1, len(steps)/2); ; size /= 2 {
		for first := 0; first+size <= len(steps) && time.Now().Before(end); {
			fewer := slices.Concat(steps[:first], steps[first+size:])
			tries++
			again := fmt.Sprintf("%s-again%d", name, tries)
			err := x.begin(ctx, again, sample)
			for i := 0; err == nil && i < len(fewer); i++ {
				_, err = x.take(ctx, again, fewer[i])
			}
			var shorter *Failure
			if errors.As(err, &shorter) {
				steps, failure = fewer, shorter
				continue
			}
			if err != nil {
				return err
			}
			first += size
		}
		if size <= 1 {
			break
		}
	}
	taken := []string{fmt.Sprintf("created an object like sample %d", sample%len(x.resource.Samples)+1)}
	for _, s := range steps {
		taken = append(taken, "  "+s.String())
	}
	return &Failure{strings.Join(taken, "\n") + "\n" + failure.Did, failure.Diff, failure.About, failure.Until}
}
