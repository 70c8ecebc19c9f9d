// Command conformance finds out whether a controller of DatabaseManagers, or of another resource, keeps its promises. It starts the
// controller, any program that takes --kubeconfig, as a process behind a proxy (proxy.go), and looks at the cluster and the requests only.
//
// Read in this order: promises.go (the list), resource.go (what is known of the resource), state.go (what is compared), promises_*.go (how
// each is tried; combined_events.go and policies.go help two of them), tap.go (which requests are broken), schema.go (values for a walk),
// process.go, world.go, report.go.
// `make conformance` runs it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// options is what the flags say.
type options struct {
	kubeconfig  string
	command     []string // the controller's
	leaderFlags []string // what it takes in addition for an election
	rbac        string
	file        string    // describes the resource
	resource    *Resource // what it says
	claims      []string
	only        string
	seed        uint64
	sample      int
	parallel    int
	objects     int
	steps       int
	rest        time.Duration
	timeout     time.Duration
	report      string
	capstone    bool
	stage       int
	waits       bool   // the timeout is given
	reached     string // a file
	svg         string // a file
	again       string // the command that has started the suite, for the reports
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	klog.LogToStderr(false) // what client-go has to say about requests that are cancelled is of no use here
	klog.SetOutput(io.Discard)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run tries the promises, and returns the exit code: 0 if all are kept, 1 if not, 2 for wrong usage, or if the suite
// itself fails.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	var config *rest.Config
	if err == nil {
		config, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	}
	if err == nil {
		o.resource, err = readResource(o.file, config)
	}
	if err != nil {
		fmt.Fprintln(stderr, "conformance:", err)
		return 2
	}
	_ = os.Remove(o.svg) // of an earlier run; there may be none
	config.QPS = -1      // the server's priority and fairness decides who waits
	results, err := tryAlone(ctx, o, config, func(ctx context.Context) []Result {
		if o.capstone {
			return climb(ctx, o, config, stdout, stderr)
		}
		return tryAll(ctx, o, config, stderr, promises)
	})
	code := 0
	if err != nil {
		fmt.Fprintln(stderr, "conformance:", err)
		code = 2
	}
	if results == nil {
		return code
	}
	for _, r := range results {
		if r.err != nil {
			r.print(stdout)
		}
		if r.isBroken() || r.skipped == interrupted {
			code = max(code, 1)
		}
	}
	if code == 0 && slices.ContainsFunc(results, Result.isUnseen) {
		code = 3
	}
	if !o.capstone {
		printTable(stdout, results)
	}
	printFigures(stdout, results)
	if broken := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return !r.isBroken() }); len(broken) > 1 {
		const advice = "\n%d promises are broken. One mistake can break many: mend %s, and try all again.\n"
		fmt.Fprintf(stdout, advice, len(broken), broken[0].name)
	}
	if first := slices.IndexFunc(results, Result.isBroken); first >= 0 && o.svg != "" {
		if err := os.WriteFile(o.svg, []byte(drawSVG(results[first].shown())), 0o644); err != nil {
			fmt.Fprintln(stderr, "conformance: drawing the diagram:", err)
			return 2
		}
		fmt.Fprintln(stdout, "  all writes, as a picture:", o.svg)
	}
	if o.report != "" {
		if err := writeReports(o.report, results); err != nil {
			fmt.Fprintln(stderr, "conformance: writing the reports:", err)
			return 2
		}
	}
	return code
}

func parse(args []string) (o options, err error) {
	flags := pflag.NewFlagSet("conformance", pflag.ContinueOnError)
	flags.SortFlags = false
	controller := flags.String("controller", "", "the command that starts the controller; --kubeconfig=FILE is added")
	leader := flags.String("leader-flags", "--leader-elect", "what is added for an election; {namespace} becomes the namespace")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	flags.StringVar(&o.rbac, "rbac", "06-crd-codegen/deploy/rbac.yaml", "manifest with the permissions that the controller needs")
	flags.StringVar(&o.file, "resource", "internal/conformance/databasemanager.yaml", "the file that describes the resource")
	flags.StringSliceVar(&o.claims, "claims", []string{"all"}, "the promises that the controller makes, or all; -NAME leaves one out")
	flags.StringVar(&o.only, "only", "", "the one promise to try")
	flags.Uint64Var(&o.seed, "seed", 1, "decides what is left to chance")
	flags.IntVar(&o.sample, "sample", 0, "try so many cases of a promise at most, by chance (0: all)")
	flags.IntVar(&o.parallel, "parallel", 2, "how many promises to try at once")
	flags.IntVar(&o.objects, "objects", 300, "how many objects the promise load has")
	flags.IntVar(&o.steps, "steps", 100, "how many steps the promise transitions takes; combined has a round for each 25")
	flags.DurationVar(&o.rest, "rest", 20*time.Second, "for how long a controller at rest is watched")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long to wait for each state")
	flags.StringVar(&o.report, "report", "", "write the results to NAME.xml, as JUnit, and to NAME.json")
	flags.BoolVar(&o.capstone, "capstone", false, "try the stages in their order, until one is not kept")
	flags.IntVar(&o.stage, "stage", 0, "the one stage to try")
	flags.StringVar(&o.reached, "reached", "", "write the number of the last stage that is kept, and of all, to this file")
	flags.StringVar(&o.svg, "svg", "", "draw the writes of the first promise that is not kept into this file")
	flags.StringVar(&o.again, "again", "make conformance", "the command that starts the suite in this way, for the report")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.waits = flags.Changed("timeout")
	if o.capstone { // fewer cases, so that a stage is short
		for name, value := range map[string]string{"objects": "60", "steps": "20", "rest": "3s", "parallel": "4"} {
			if !flags.Changed(name) {
				_ = flags.Set(name, value) // they are right
			}
		}
	}
	o.command, o.leaderFlags = strings.Fields(*controller), strings.Fields(*leader)
	if _, err := os.Stat(*controller); err == nil {
		o.command = []string{*controller} // there can be a space in its folder's name
	}
	names := []string{}
	for _, p := range promises {
		names = append(names, p.name)
	}
	for _, name := range append(slices.Clone(o.claims), o.only) {
		if name = strings.TrimPrefix(name, "-"); name != "" && name != "all" && !slices.Contains(names, name) {
			return o, fmt.Errorf("there is no promise %q: name one of %s", name, strings.Join(names, ", "))
		}
	}
	switch {
	case flags.Changed("stage") && (o.stage < 1 || o.stage > len(stages)):
		return o, fmt.Errorf("there is no stage %d: there are 1 to %d", o.stage, len(stages))
	case o.capstone && o.only != "" && o.stage == 0:
		return o, errors.New("ONLY needs the stage: STAGE=12 ONLY=" + o.only)
	case o.capstone && o.only != "" && !slices.ContainsFunc(stages[o.stage-1].promises, func(p Promise) bool { return p.name == o.only }):
		return o, fmt.Errorf("stage %d has no promise %s", o.stage, o.only)
	case flags.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q: see --help", flags.Arg(0))
	case len(o.command) == 0 || o.kubeconfig == "":
		return o, errors.New("--controller or --kubeconfig is missing: run make conformance")
	}
	return o, nil
}

// claimed reports whether the controller makes a promise.
func (o options) claimed(name string) bool {
	positive := slices.ContainsFunc(o.claims, func(claim string) bool { return !strings.HasPrefix(claim, "-") })
	return !slices.Contains(o.claims, "-"+name) && (!positive || slices.Contains(o.claims, "all") || slices.Contains(o.claims, name))
}

// tryAlone calls try, while no other controller works for the suite's objects. If one does, it ends, and returns no results, but an
// error. It returns both if it cannot remove the object by which it finds that out.
func tryAlone(
	ctx context.Context, o options, config *rest.Config, try func(context.Context) []Result,
) (results []Result, err error) {
	w, err := newWorld(ctx, o, config, nil)
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return nil, err
	}
	if err := w.untouched(ctx, func(ctx context.Context) { results = try(ctx) }); err != nil {
		return nil, err
	}
	return results, nil
}

// aboutDatabaseManagers are the promises that cannot be tried on a controller of another resource.
var aboutDatabaseManagers = []string{"life", "status", "deletion", "data"}

// tryAll tries promises, some at a time.
func tryAll(ctx context.Context, o options, config *rest.Config, progress io.Writer, promises []Promise) []Result {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(max(1, o.parallel))
	results := []Result{}
	for _, p := range promises {
		if o.only == "" || o.only == p.name {
			results = append(results, Result{Promise: p})
		}
	}
	for i := range results {
		r := &results[i]
		if !o.claimed(r.name) {
			r.skipped = "--claims leaves it out"
			continue
		}
		if !o.resource.isDatabaseManager() && slices.Contains(aboutDatabaseManagers, r.name) {
			r.skipped = "it is about DatabaseManagers"
			continue
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				r.skipped = interrupted
				return nil
			}
			start := time.Now()
			say := func(format string, arguments ...any) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(progress, "%-11s %5.1fs %s\n", r.name, time.Since(start).Seconds(), fmt.Sprintf(format, arguments...))
			}
			r.try1(ctx, o, config, say)
			if r.isUnseen() {
				say("%v: it is tried again", r.err)
				r.try1(ctx, o, config, say)
			}
			r.took = time.Since(start)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error: they are in the results
	return results
}

const interrupted = "the suite was interrupted"

// try1 tries one promise, in a world of its own.
func (r *Result) try1(ctx context.Context, o options, config *rest.Config, say func(string, ...any)) {
	say("%s", r.sentence)
	w, err := newWorld(ctx, o, config, say)
	if err == nil {
		err = recovered(func() error { return r.try(ctx, w) })
	}
	r.err = err
	r.writes = append(w.tap.writes("", time.Time{}), w.own.writes("", time.Time{})...)
	slices.SortStableFunc(r.writes, func(a, b Request) int { return a.At.Compare(b.At) })
	r.figures = w.figures
	r.alone = fmt.Sprintf("%s ONLY=%s SEED=%d", o.again, r.name, o.seed)
	if len(w.processes) > 0 {
		r.log = cmp.Or(w.blamed, w.processes[len(w.processes)-1]).lastLines(15)
	}
	if err := w.close(); r.err == nil {
		r.err = err
	}
	if ctx.Err() != nil {
		r.err, r.skipped = nil, interrupted
		return
	}
	if r.isBroken() {
		say("BROKEN: the report comes at the end")
	} else {
		say("%s", r)
	}
}
