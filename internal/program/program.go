// Package program is what every chapter's main has in common: flags, signals, the connection to the cluster, lines of
// output, and an exit code with at most one line of error.
//
// A chapter creates a [Program], adds its own flags to [Program.Flags], and passes its main function to [Program.Run]. It
// prints with [Program.Out], a [Printer].
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/requestlog"
)

// Program is a chapter's program.
type Program struct {
	Flags  *pflag.FlagSet
	Wire   requestlog.Log // every request of the program
	Stdout Stdout         // of the process, or what takes its place in a test
	Out    *Printer       // prints on Stdout

	// Connected, if it is set, is called with the configuration before the first request, and may change it.
	Connected func(*rest.Config)

	connect  connect.Options
	cutter   netfault.Cutter
	duration time.Duration
	wire     bool
	slow     time.Duration // see --slow-watch
}

// New returns the program of a chapter, for example "01-listwatch". Flags has already what each chapter's --help lists, such
// as --wire and --slow-watch: to add one of them again is a panic.
func New(name string) *Program {
	p := &Program{Flags: pflag.NewFlagSet(name, pflag.ContinueOnError)}
	p.Out = NewPrinter(&p.Stdout)
	p.Flags.SortFlags = false
	p.connect.AddFlags(p.Flags)
	p.Flags.DurationVar(&p.duration, "duration", 0, "stop after this time (0: at Ctrl-C)")
	p.Flags.BoolVar(&p.Out.timestamps, "timestamps", false, "begin each line with the time of day")
	p.Flags.BoolVar(&p.wire, "wire", false, "print each HTTP request")
	p.cutter.AddFlags(p.Flags)
	p.Flags.DurationVar(&p.slow, "slow-watch", 0, "break it: let each event of a watch arrive this much later")
	klogFlags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(klogFlags)
	verbosity := pflag.PFlagFromGoFlag(klogFlags.Lookup("v"))
	verbosity.Usage = "how much client-go logs to stderr (4 shows its retries, 6 its requests, 8 their bodies)"
	p.Flags.AddFlag(verbosity)
	return p
}

// Writes declares that the program changes its cluster. Then a cluster that only $KUBECONFIG names is rejected.
func (p *Program) Writes() { p.connect.Writes = true }

// UsageError is a mistake in the program's arguments. It ends the program with exit code 2.
type UsageError struct{ error }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// CheckNamespace returns a UsageError if there is no such namespace. To the server an unknown namespace is an empty one,
// so the program would wait silently after a typo. An empty name stands for all namespaces.
func CheckNamespace(ctx context.Context, clientset kubernetes.Interface, name string) error {
	if name == "" {
		return nil
	}
	_, err := clientset.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Usagef("there is no namespace %q: see `scripts/kubectl get namespaces`", name)
	case apierrors.IsForbidden(err):
		return nil // a user with permissions in one namespace only cannot check
	}
	return err
}

// Run runs the program with the process's arguments and exits the process when run returns.
// The context that run gets ends at SIGINT, at SIGTERM, after --duration, and when a write to stdout fails.
// A second signal ends the process at once.
func (p *Program) Run(run func(ctx context.Context, config *rest.Config) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after that, signals kill, as they do by default
	os.Exit(p.Main(ctx, os.Args[1:], os.Stdout, os.Stderr, run))
}

// Main is Run for tests: it does not exit, but returns the exit code: 0, 1 for an error, 2 for wrong usage.
func (p *Program) Main(ctx context.Context, args []string, stdout, stderr io.Writer, run func(context.Context, *rest.Config) error) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p.Stdout.out, p.Stdout.stop = stdout, stop
	p.Out.colors = showsColors(stdout)
	err := p.main(ctx, args, stderr, run)
	if errors.Is(err, pflag.ErrHelp) {
		_, _ = fmt.Fprintf(&p.Stdout, "Usage of %s:\n%s", p.Flags.Name(), p.Flags.FlagUsages())
		err = nil
	}
	if failure := p.Stdout.failure(); failure != nil {
		err = failure // the run's own error is only a consequence
	}
	var usage UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		NewPrinter(stderr).Print(p.Flags.Name(), ": ", err.Error(), " (--help lists the flags)")
		return 2
	}
	NewPrinter(stderr).Print(p.Flags.Name(), ": ", connect.Explain(err))
	return 1
}

func (p *Program) main(ctx context.Context, args []string, stderr io.Writer, run func(context.Context, *rest.Config) error) error {
	p.Flags.SetOutput(io.Discard) // the one line that Main prints is enough
	p.Flags.Usage = func() {}
	if err := p.Flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return err
	} else if err != nil {
		return UsageError{err}
	}
	if p.Flags.NArg() > 0 {
		return Usagef("unknown argument %q", p.Flags.Arg(0))
	}
	if err := p.checkDurations(); err != nil {
		return err
	}

	cluster, err := p.connect.Load()
	if err != nil {
		return err
	}
	if p.wire {
		p.Wire.Line = p.Out.Line
	}
	cluster.Config.Dial = p.cutter.Dial
	if p.Connected != nil {
		p.Connected(cluster.Config)
	}
	greeting, err := cluster.Greet(ctx)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	NewPrinter(stderr).Print(greeting)
	if p.slow > 0 {
		cluster.Config.Wrap(netfault.SlowWatches(p.slow))
	}
	cluster.Config.Wrap(p.Wire.Wrap)

	if p.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.duration)
		defer cancel()
	}
	var group sync.WaitGroup
	defer group.Wait()
	cutting, stopCutting := context.WithCancel(ctx)
	defer stopCutting()
	group.Go(func() { p.cutter.Run(cutting, stderr) })
	return unlessEnded(ctx, run(ctx, cluster.Config))
}

// unlessEnded returns err, but nil if it only says that ctx has ended. A request that Ctrl-C or --duration has cancelled
// is no failure.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// checkDurations returns a UsageError if a flag's duration is negative. Without it, --duration=-1s would mean "without end".
func (p *Program) checkDurations() (err error) {
	p.Flags.Visit(func(f *pflag.Flag) {
		if d, parseErr := p.Flags.GetDuration(f.Name); parseErr == nil && d < 0 && err == nil {
			err = Usagef("--%s cannot be negative", f.Name)
		}
	})
	return err
}
