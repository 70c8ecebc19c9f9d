package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// Stage is a step on the way to a whole controller. What it asks for are promises, or the part of one that the stages before it have
// prepared. 06-crd-codegen/capstone/README.md has a section for each.
type Stage struct {
	title    string
	promises []Promise
	sample   int           // of the cases of each promise
	timeout  time.Duration // 0: as the suite's
}

var stages = []Stage{
	{title: "One Deployment", promises: []Promise{part("deployment", "A DatabaseManager gets its Deployment.", oneDeployment)},
		timeout: 10 * time.Second}, // whoever begins waits for it each time
	{title: "All children", promises: []Promise{part("children", "It gets its Service, its Secret and its claim, too.", allChildren)}},
	{title: "Changes", promises: []Promise{part("changes", "The Deployment follows the spec, and others' fields stay.", changes)}},
	{title: "Several at once", promises: []Promise{part("several", "Each has its own. One that is deleted takes its children.", several)}},
	{title: "Status", promises: []Promise{part("ready", "Ready is about the current spec, and about pods that have it.", ready)}},
	{title: "Nothing to do", promises: named("quiet")},
	{title: "Drift", promises: named("drift"), sample: 6},
	{title: "Names that are taken", promises: []Promise{part("taken", "What belongs to others is left alone.", namesTaken)}},
	{title: "Deletion", promises: named("deletion", "data"), sample: 18},
	{title: "Killed, and not answered", promises: named("crash", "ambiguity"), sample: 6},
	{title: "Late and lost watches", promises: named("past", "gaps"), sample: 3},
	{title: "Ready for a cluster", sample: 3,
		promises: named("status", "transitions", "stability", "combined", "permissions", "end", "leaders", "load")},
}

// named returns promises.
func named(names ...string) (found []Promise) {
	for _, p := range promises {
		if slices.Contains(names, p.name) {
			found = append(found, p)
		}
	}
	return found
}

// part is a promise that only a stage has.
func part(name, sentence string, try func(context.Context, *World) error) Promise {
	return Promise{name: name, sentence: sentence, try: try}
}

// climb tries one stage, or all in their order until one is not kept, and returns the last one's results.
func climb(ctx context.Context, o options, config *rest.Config, stdout, stderr io.Writer) (results []Result) {
	reached, progress := 0, stderr
	if o.stage == 0 {
		progress = io.Discard // one line for each stage is enough
	}
	for i, stage := range stages {
		number := i + 1
		if o.stage > 0 && o.stage != number {
			continue
		}
		o := o
		if number < len(stages) {
			o.claims = append(slices.Clone(o.claims), "-leaders") // past has a case with an election
		}
		if o.sample == 0 {
			o.sample = stage.sample
		}
		if stage.timeout > 0 && !o.waits {
			o.timeout = stage.timeout
		}
		if stage.sample > 0 { // a sign of life
			fmt.Fprintf(stderr, "stage %2d  %s ...\n", number, stage.title)
		}
		start := time.Now()
		results = tryAll(ctx, o, config, progress, stage.promises)
		for i := range results {
			r := &results[i]
			r.alone = fmt.Sprintf("%s STAGE=%d SEED=%d", o.again, number, o.seed)
			if r.read != "" { // a whole promise
				r.alone += " ONLY=" + r.name
				r.read += ", and "
			}
			r.read += page(number)
			isIdle := !slices.ContainsFunc(r.writes, func(w Request) bool { return w.Who != suite })
			if f, ok := r.err.(*Failure); ok && isIdle && number == 1 && !strings.Contains(f.Diff, hasEnded) {
				f.Did += ".\nYour program has written nothing. If it is still a starter, that is expected: read the page"
			}
		}
		verdict, without := verdictOf(results)
		fmt.Fprintf(stdout, "stage %2d  %-25s %-7s %5.1fs%s\n", number, stage.title, verdict, time.Since(start).Seconds(), without)
		if verdict != "kept" {
			break
		}
		reached = number
	}
	if reached == len(stages) {
		fmt.Fprintln(stdout, "All that was tried is kept. make conformance tries more cases: see "+page(len(stages)))
	}
	if o.stage == 0 && o.reached != "" && ctx.Err() == nil && !slices.ContainsFunc(results, Result.isUnseen) {
		_ = os.WriteFile(o.reached, fmt.Appendln(nil, reached, len(stages)), 0o644) // make progress shows it, and nothing else needs it
	}
	return results
}

// verdictOf joins results: one that is broken counts for more than one that could not be seen, and that for more than those that are kept.
func verdictOf(results []Result) (verdict, without string) {
	verdict = "kept"
	for _, r := range results {
		switch text := r.String(); {
		case r.skipped == interrupted:
			return r.skipped, ""
		case text == "skipped":
			without += ", without " + r.name
		case text == "BROKEN" || text == "unseen" && verdict == "kept":
			verdict = text
		}
	}
	return verdict, without
}

// page returns the section of a stage.
func page(number int) string {
	anchor := strings.ToLower(strings.NewReplacer(" ", "-", ",", "").Replace(stages[number-1].title))
	return fmt.Sprintf("06-crd-codegen/capstone/README.md#%d-%s", number, anchor)
}

// untilShape waits until a DatabaseManager's children have a shape, without what asks takes out of it: what no stage has asked for yet.
func (w *World) untilShape(ctx context.Context, did string, d, other *dbv1alpha1.DatabaseManager, asks func(*shape), want shape) error {
	asks(&want)
	return about(d.Name, during(did, w.await(ctx, "the children that it asks for", func(ctx context.Context) (string, error) {
		seen, err := w.shapeOf(ctx, d, other)
		if apierrors.IsNotFound(err) {
			return "- the Deployment that the spec names, and the claim that its pods name\n+ " + err.Error(), nil
		}
		asks(&seen)
		return diffOf(want, seen), err
	})))
}

// oneDeployment leaves out what the later stages ask for.
func oneDeployment(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	const did = "started the controller, and created a DatabaseManager"
	d, err := w.create(ctx, "one", func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.DeploymentName, s.Version, s.StorageSize = "one-db", "8.4.4", nil
	})
	if err != nil {
		return err
	}
	asks := func(s *shape) {
		*s = shape{Deployment: s.Deployment, Replicas: s.Replicas, Image: s.Image, SelectsItsPods: s.SelectsItsPods, NotOwned: s.NotOwned}
		s.NotOwned = slices.DeleteFunc(s.NotOwned, func(child string) bool { return !strings.HasPrefix(child, "Deployment ") })
	}
	want := shape{Deployment: "one-db", Image: "mysql:8.4.4", SelectsItsPods: true, NotOwned: []string{}}
	return w.untilShape(ctx, did, d, d, asks, want)
}

// allShape is the shape of a DatabaseManager of w.create.
func allShape(d *dbv1alpha1.DatabaseManager) shape {
	return shape{
		[]string{"Deployment", "PersistentVolumeClaim", "Secret", "Service"}, []string{}, d.Spec.DeploymentName, *d.Spec.Replicas,
		fmt.Sprintf("%s:%s", d.Spec.Dbtype, d.Spec.Version), d.Spec.StorageSize.String(), true, true, true, true,
	}
}

// alone leaves out what is about another one.
func alone(s *shape) { s.SelectsNoOthers, s.ServesNoOther = false, false }

// createSized creates a DatabaseManager with a volume.
func (w *World) createSized(ctx context.Context, name string, dbtype dbv1alpha1.DatabaseType, version string) (
	*dbv1alpha1.DatabaseManager, error,
) {
	return w.create(ctx, name, func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.Dbtype, s.Version, s.StorageSize = dbtype, version, new(resource.MustParse("2Gi"))
	})
}

// allChildren has the controller create all kinds of children.
func allChildren(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	d, err := w.createSized(ctx, "all", dbv1alpha1.MySQL, "8.4.4")
	if err != nil {
		return err
	}
	return w.untilShape(ctx, "created a DatabaseManager with storageSize 2Gi", d, d, alone, allShape(d))
}

// changes scales a DatabaseManager and changes its version, while another manager has fields of its own.
func changes(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	d, err := w.create(ctx, "changes", func(s *dbv1alpha1.DatabaseManagerSpec) { s.Version, s.StorageSize = "8.4.4", nil })
	if err != nil {
		return err
	}
	asks := func(s *shape) { *s = shape{Kinds: s.Kinds, Replicas: s.Replicas, Image: s.Image} }
	want := shape{Kinds: []string{"Deployment", "Secret", "Service"}, Image: "mysql:8.4.4"}
	if err := w.untilShape(ctx, "created a DatabaseManager", d, d, asks, want); err != nil {
		return err
	}
	foreign, err := w.annotations(ctx, d, true)
	if err != nil {
		return err
	}
	before, err := w.identities(ctx, d)
	if err != nil {
		return err
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: d.Name}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	if _, err := w.databases.UpdateScale(ctx, d.Name, scale, metav1.UpdateOptions{}); err != nil {
		return err
	}
	did := "another manager set an annotation of each child; scaled the DatabaseManager to 2"
	want.Replicas = 2
	if err := w.untilShape(ctx, did, d, d, asks, want); err != nil {
		return err
	}
	if err := w.patch(ctx, d.Name, `{"spec": {"version": "8.4.5"}}`); err != nil {
		return err
	}
	did += "; changed its version"
	want.Image = "mysql:8.4.5"
	if err := w.untilShape(ctx, did, d, d, asks, want); err != nil {
		return err
	}
	now, err := w.annotations(ctx, d, false)
	if err != nil {
		return err
	}
	if err := failed(did+"; read the annotations", foreign, now); err != nil {
		return about(d.Name, err)
	}
	after, err := w.identities(ctx, d)
	if err != nil {
		return err
	}
	return about(d.Name, failed(did+"; looked whether the children are the same objects, with the same password", before, after))
}

// several has two DatabaseManagers of one type beside one of another, and deletes the first.
func several(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	made := []*dbv1alpha1.DatabaseManager{}
	for _, d := range []struct {
		name, version string
		dbtype        dbv1alpha1.DatabaseType
	}{{"first", "8.4.4", dbv1alpha1.MySQL}, {"second", "8.4.5", dbv1alpha1.MySQL}, {"third", "11.4.5", dbv1alpha1.MariaDB}} {
		d, err := w.createSized(ctx, d.name, d.dbtype, d.version)
		if err != nil {
			return err
		}
		made = append(made, d)
	}
	did := "created three DatabaseManagers, of MySQL, MySQL and MariaDB"
	for i, d := range made {
		other := made[(i+1)%len(made)]
		compared := did + "; looked at the children of " + d.Name + ", and whether " + other.Name + " has them, too"
		if err := w.untilShape(ctx, compared, d, other, func(*shape) {}, allShape(d)); err != nil {
			return err
		}
	}
	one, other := made[0], made[1]
	if err := w.passwordsDiffer(ctx, one, other); err != nil {
		return err
	}
	before, err := w.identities(ctx, other)
	if err != nil {
		return err
	}
	if err := w.databases.Delete(ctx, one.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	did += "; deleted the first"
	if err := w.untilGone(ctx, one.Name); err != nil {
		return about(one.Name, during(did, err))
	}
	if err := w.untilCollectedOf(ctx, one); err != nil {
		return about(one.Name, during(did, err))
	}
	after, err := w.identities(ctx, other)
	if err != nil {
		return err
	}
	return about(other.Name, failed(did+"; looked at the children of the second", before, after))
}

// ready reads the status of a DatabaseManager with a pod, while its version changes.
func ready(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	if _, err := w.create(ctx, "status", withPod); err != nil {
		return err
	}
	d, err := w.untilDatabaseReady(ctx, "status")
	if err == nil {
		err = failed("created a DatabaseManager; read availableReplicas", int32(1), d.Status.AvailableReplicas)
	}
	if err != nil {
		return about("status", err)
	}
	if err := w.notReadyEarly(ctx, d); err != nil {
		return about("status", err)
	}
	_, _, err = w.untilReady(ctx, "status", "")
	return about("status", during("changed its version", err))
}

// namesTaken asks for names that are taken.
func namesTaken(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	if _, err := w.create(ctx, "first", withPod); err != nil {
		return err
	}
	d, err := w.untilDatabaseReady(ctx, "first")
	if err != nil {
		return err
	}
	taken, strangers, err := w.createStrangers(ctx, d)
	if err != nil {
		return err
	}
	return w.conflicts(ctx, d, taken, strangers)
}

// figure keeps a number that nobody is held to.
func (w *World) figure(name, format string, value ...any) {
	w.figures = append(w.figures, figure{name, fmt.Sprintf(format, value...)})
}
