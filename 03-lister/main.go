// Chapter 3: the lister and the indexer, which answer questions without a request.
//
// The informer of chapter 2 keeps a copy of the server's pods in its store. Here no handler reacts to changes: the program
// reads queries, such as "node=node-000003 and image=nginx", and answers them from the store.
//
// Read in this order: main.go, informer.go, transform.go, watcherror.go, indexers.go, query.go, responder.go, mutate.go.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/querylang"
)

func main() {
	p := program.New("03-lister")
	o := options{selection: selection{labels: labels.Everything()}, in: os.Stdin, terminal: &p.Stdout, requests: p.Wire.Requests}
	p.Flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", program.LabelSelector(&o.labels))
	p.Flags.Func("query", `query to answer, such as "image=nginx and node=n1"; repeatable (default: on stdin)`, func(value string) error {
		o.queries = append(o.queries, value)
		_, err := language.Parse(value)
		return err
	})
	p.Flags.Uint32Var(&o.limit, "limit", 10, "how many names to print of an answer")
	p.Flags.Func("mutate", "break it: change a pod in the cache, or with --mutate=copy a copy of it", func(value string) error {
		if value != "cached" && value != "copy" {
			return errors.New("it takes cached or copy")
		}
		o.mutation = value
		return nil
	})
	p.Flags.Lookup("mutate").NoOptDefVal = "cached"

	p.Run(func(ctx context.Context, config *rest.Config) error {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if err := program.CheckNamespace(ctx, clientset, o.namespace); err != nil {
			return err
		}
		return run(ctx, clientset, o, p.Out)
	})
}

// options holds what the flags say, and where queries come from if they say none.
type options struct {
	selection
	queries  []string
	limit    uint32
	mutation string // cached, copy, or empty for none
	in       *os.File
	terminal io.Writer  // shows the prompt if in is a terminal
	requests func() int // the number of requests that the program has sent so far
}

// run answers queries until there are no more, or ctx ends.
func run(ctx context.Context, clientset kubernetes.Interface, o options, out *program.Printer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	factory := newFactory(clientset, o.selection)
	defer func() {
		cancel(nil)        // stops the informer,
		factory.Shutdown() // and this waits for it
	}()
	pods := factory.Core().V1().Pods()
	informer := pods.TypedInformer()
	if err := handleWatchErrors(out, cancel, informer); err != nil {
		return err
	}
	if err := informer.AddTypedIndexers(podIndexers); err != nil {
		return err
	}
	start := time.Now()
	factory.StartWithContext(ctx)
	// Without this, the lister would answer, too: that there are no pods. There are no handlers to wait for, so the
	// informer's own checker is the right one.
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
		return deniedCause(ctx)
	}
	out.Line("SYNCED", "%d pod(s) in %s", len(informer.GetIndexer().ListKeys()), time.Since(start).Round(time.Millisecond))

	r := responder{out: out, pods: podCache{pods.Lister(), informer.GetTypedIndexer()}, limit: int(o.limit), requests: o.requests}
	if o.mutation != "" {
		if err := mutate(ctx, r.pods, o.mutation == "copy", out); err != nil {
			return err
		}
	}
	prompt := querylang.Prompt[query]{Language: language, Answer: r.answer, Out: out}
	for _, text := range o.queries {
		if err := prompt.Ask(text); err != nil {
			return err
		}
	}
	if len(o.queries) > 0 {
		return nil
	}
	if term.IsTerminal(int(o.in.Fd())) {
		prompt.Terminal = o.terminal
		out.Line("KEYS", "name, namespace, node, image, owner, label, each as key=value; Ctrl-D ends")
	}
	return prompt.Run(ctx, o.in)
}
