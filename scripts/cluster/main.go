// Command cluster makes, restarts and removes the workbook's cluster. The scripts in the folder above are its fronts.
//
// A cluster lives in one folder: .cluster in the checkout, or $CLUSTER_DIR. Its state is written down nowhere: it is
// read off what there is, so that it is also right after a crash, a reboot or a full disk.
//
//	state      what there is                                      up                        down
//	none       no folder, or nothing in it but tests' clusters    → starting                removes those
//	foreign    a folder that this program did not make            refuses, changes nothing  refuses, changes nothing
//	starting   never whole so far, and a call holds its lock      waits for that call       waits for that call
//	elsewhere  copied or moved with its folder (see marker)       → starting, → restarting  → none
//	broken     a part is missing or does not answer               → restarting              → none
//	restarting broken, and a call holds its lock                  waits for that call       waits for that call
//	up         all its parts run, and the API server is ready     does nothing              → none
//
// A call that starts or restarts ends in up, or in broken with an error that names the part and its last words. Killed
// at any moment, it leaves broken, and the next up starts it again on its data, or makes one of the other type if this one never was up.
// A broken local cluster is stopped as a whole, and started again on its data.
//
// Nothing of the reader's is ever deleted but by down: the cluster's objects are etcd's data, from which a restart goes on
// or, if etcd cannot read them, which it moves aside. Down deletes only what this program made.
//
// Read in this order: cluster.go (the folder and its states), local.go (the life of a local cluster), component.go (its
// processes), wait.go, marker and ports (packages), kind.go, build.go, download.go, web.go, samples.go,
// apiserver.go, audit.go, kubeconfig.go, lock.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	// Keys and Secrets are in these files, and in the files of every process that this one starts.
	syscall.Umask(0o077)
	// A reader's own settings for an etcd or kwokctl of his: etcd ends when one differs from a flag.
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ETCD_") || strings.HasPrefix(name, "KWOK_") {
			os.Unsetenv(name)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil
	stop()

	var misuse usageError
	var file *fs.PathError
	switch {
	case err == nil:
	case interrupted:
		say("Interrupted. Run the same command again: it goes on from here.")
		os.Exit(130)
	case errors.As(err, &misuse):
		say("%v", err)
		os.Exit(2)
	case errors.As(err, &file) && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)):
		say("The disk of %s is full: free some, then run make cluster.", filepath.Dir(file.Path))
		os.Exit(1)
	default:
		say("%v", err)
		os.Exit(1)
	}
}

const usage = `usage: cluster up | down | status | apiserver stop|start | samples [--if-missing] [--pods COUNT] [N] |
	audit | cpu | programs | unfit RUNTIME`

func run(ctx context.Context, arguments []string) error {
	if len(arguments) == 0 {
		return usageError(usage)
	}
	c, err := newCluster()
	if err != nil {
		return err
	}
	command, rest := arguments[0], arguments[1:]
	if m := c.marker(); m.Type != "" && slices.Contains([]string{"apiserver", "samples", "audit"}, command) {
		if err := m.Check(c.folder); err != nil {
			return err
		}
	}
	switch command {
	case "up":
		return c.up(ctx)
	case "down":
		return c.down(ctx)
	case "status":
		return c.status(ctx)
	case "apiserver":
		return c.apiserver(ctx, rest)
	case "samples":
		return c.samples(ctx, rest)
	case "audit":
		return c.audit(ctx)
	case "cpu":
		fmt.Printf("%.0f\n", c.local().cpu())
		return nil
	case "programs":
		// For those who must know whether a local cluster can start at once.
		p := newPrograms(c.root, c.cache)
		if !p.ready() {
			return errors.New("the local cluster's programs are not here: run CLUSTER=local make cluster")
		}
		fmt.Println(p.folder())
		return nil
	case "unfit":
		// For make doctor.
		fmt.Println(unfit(ctx, strings.Join(rest, " ")))
		return nil
	}
	return usageError(usage)
}

// usageError is an error in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// message is an error that is a sentence for the reader.
type message string

func (m message) Error() string { return string(m) }

func messagef(format string, args ...any) error { return message(fmt.Sprintf(format, args...)) }

// say prints a line to standard error.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
