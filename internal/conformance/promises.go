package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"
)

// Promise is one thing that a controller promises, and how to find out.
type Promise struct {
	name     string
	sentence string
	read     string // where, in this workbook
	source   string // in Kubernetes' own code, and what to search for
	try      func(context.Context, *World) error
}

const readme = "06-crd-codegen/README.md#"

var promises = []Promise{
	{"life", "The children are as asked for from the first day to the last, and what belongs to others is left alone.",
		readme + "name-conflict", "k8s.io/apimachinery/pkg/apis/meta/v1/controller_ref.go: IsControlledBy", life},
	{"status", "Ready is about the current spec, and a failure that stays is told once.",
		readme + "status-and-conditions", "k8s.io/apimachinery/pkg/api/meta/conditions.go: SetStatusCondition", status},
	{"quiet", "Where nothing differs it writes nothing, and neither does a restart.",
		readme + "write-only-what-differs", "k8s.io/apimachinery/pkg/api/equality/semantic.go: Semantic", quiet},
	{"drift", "What others change in its fields, or delete of its children, comes back.",
		readme + "a-change-that-an-apply-cannot-undo",
		"k8s.io/client-go/applyconfigurations/apps/v1/deployment.go: ExtractDeployment", drift},
	{"deletion", "Deleted in whatever way, its children stay or go as its deletionPolicy and the user ask for.",
		readme + "finalizers-and-owner-references", "k8s.io/apimachinery/pkg/apis/meta/v1/types.go: DeletionPropagation", deletion},
	{"data", "Another owner gets the data that were kept only as they are, and what somebody deletes is not let go sooner.",
		readme + "adopt-what-was-kept", "k8s.io/apimachinery/pkg/apis/meta/v1/types.go: Finalizers", data},
	{"crash", "Killed at any write, before or after it was done, the next start leads to the same end.",
		"05-controller/README.md#killed", "k8s.io/client-go/tools/cache/controller.go: processDeltas", crash},
	{"ambiguity", "Whatever a write is answered, and whether it was done or not, the end is the same.",
		readme + "one-sync", "k8s.io/apimachinery/pkg/api/errors/errors.go: SuggestsClientDelay", ambiguity},
	{"past", "What it reads can be old: it deletes, changes and creates nothing by what is not true any more.",
		readme + "one-sync", "k8s.io/client-go/tools/cache/reflector.go: relistResourceVersion", past},
	{"gaps", "A watch can be late, break, and miss what was: in the end, all is as desired.",
		"02-informer/README.md#no-route-to-the-server", "k8s.io/client-go/tools/cache/the_real_fifo.go: DeletedFinalStateUnknown", gaps},
	{"transitions", "After any changes of the spec, and of the children, all is as for a new object with this spec.",
		readme + "a-change-that-an-apply-cannot-undo", "sigs.k8s.io/structured-merge-diff/v6/merge/update.go: Apply", transitions},
	{"stability", "From whatever state it finds, it reaches the desired one, and stays there.",
		readme + "write-only-what-differs", "k8s.io/client-go/util/workqueue/queue.go: Typed", stability},
	{"combined", "Two or three of these at once, and a deletion, break no promise that is kept alone.",
		readme + "finalizers-and-owner-references", "k8s.io/apimachinery/pkg/apis/meta/v1/types.go: FinalizerOrphanDependents", combined},
	{"load", "Of many objects, each costs no more than one alone, and they leave nothing behind in its memory.",
		readme + "what-it-costs", "k8s.io/client-go/rest/config.go: QPS", load},
	{"permissions", "It asks for nothing that its role lacks, and says which permission it misses.",
		readme + "least-permissions", "k8s.io/apimachinery/pkg/api/errors/errors.go: IsForbidden", permissions},
	{"end", "At SIGTERM it ends within 30 s with exit code 0, and the next start does the rest.",
		"04-workqueue/README.md#stop-it-in-the-middle", "k8s.io/client-go/util/workqueue/queue.go: ShutDown", end},
	{"leaders", "Of two processes only one writes, also when the leader is killed or paused.",
		"05-controller/README.md#the-leader-is-paused", "k8s.io/client-go/tools/leaderelection/leaderelection.go: RenewDeadline", leaders},
}

// Failure is a promise that was not kept.
type Failure struct {
	Did   string    // what the suite did
	Diff  string    // what it expected (-), and what it saw (+)
	About string    // the name of the object; empty if it is about all
	Until time.Time // the last write of which it tells; zero if that is the last of all
}

func (f *Failure) Error() string { return f.Did + ":\n" + f.Diff }

// failed returns a Failure if seen is not what was expected, and else nil.
func failed(did string, expected, seen any) error {
	if diff := diffOf(expected, seen); diff != "" {
		return &Failure{Did: did, Diff: diff}
	}
	return nil
}

// diffOf returns what differs, line by line, with three lines before and after it, or nothing. What is no text is compared as YAML.
func diffOf(expected, seen any) string {
	before, after := lines(expected), lines(seen)
	var diff []string
	for i, group := range difflib.NewMatcherWithJunk(before, after, false, nil).GetGroupedOpCodes(3) {
		if i > 0 {
			diff = append(diff, "  ...")
		}
		for _, part := range group {
			if part.Tag == 'e' {
				diff = append(diff, prefixed("  ", before[part.I1:part.I2])...)
				continue
			}
			diff = append(diff, prefixed("- ", before[part.I1:part.I2])...)
			diff = append(diff, prefixed("+ ", after[part.J1:part.J2])...)
		}
	}
	return strings.Join(diff, "\n")
}

// lines returns a text, or anything else as YAML, in lines.
func lines(value any) []string {
	text, ok := value.(string)
	if !ok {
		content, err := yaml.Marshal(value)
		if err != nil {
			panic(err) // numbers, maps and objects of the API have no cycles
		}
		text = string(content)
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

func prefixed(prefix string, lines []string) (prefixed []string) {
	for _, line := range lines {
		prefixed = append(prefixed, prefix+line)
	}
	return prefixed
}

// during says in a failure what was done before.
func during(did string, err error) error {
	if f, ok := err.(*Failure); ok {
		return &Failure{did + "; " + f.Did, f.Diff, f.About, f.Until}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", did, err)
	}
	return nil
}

// about says in a failure which object it is about.
func about(name string, err error) error {
	if f, ok := err.(*Failure); ok {
		f.About = name
	}
	return err
}

// choose returns the cases in an order by chance, and no more than --sample.
func choose[T any](w *World, cases []T) []T {
	w.random.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	if w.sample > 0 && len(cases) > w.sample {
		cases = cases[:w.sample]
	}
	return cases
}

// each tries cases, some at a time, until one fails.
func each[T any](ctx context.Context, cases []T, try func(ctx context.Context, i int, c T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(6)
	for i, c := range cases {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil // another case has failed
			}
			return recovered(func() error { return try(ctx, i, c) })
		})
	}
	return group.Wait()
}

// recovered calls try, and makes an error of a panic of the suite, so that the namespace is deleted, and the others get their results.
func recovered(try func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the suite has a bug: %v\n%s", p, debug.Stack())
		}
	}()
	return try()
}
