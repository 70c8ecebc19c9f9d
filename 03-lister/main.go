// Chapter 3: the lister and the indexer, which answer questions without a request.
//
// The informer of chapter 2 keeps a copy of the server's pods in its store. Here nobody waits for what changes in it:
// the program reads queries, such as "node=node-000003 and image=nginx", and answers them from the store.
//
// Read in this order: main.go, informer.go (the factory), indexers.go (what pods are found by), query.go (the ways
// to find them), answer.go, mutate.go (what comes of writing into the store). transform.go and watcherror.go are
// chapter 2's.
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
	c := chapter{selection: selection{labels: labels.Everything()}, out: p.Out, terminal: &p.Stdout, in: os.Stdin, requests: p.Wire.Requests}
	p.Flags.StringVarP(&c.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", program.LabelSelector(&c.labels))
	p.Flags.Func("query", "query to answer, such as \"node=node-000003 and image=nginx\"; repeatable (default: those on stdin)", func(value string) error {
		c.queries = append(c.queries, value)
		_, err := language.Parse(value)
		return err
	})
	p.Flags.Uint32Var(&c.limit, "limit", 10, "how many names to print of an answer")
	p.Flags.Func("mutate", "break it: change a pod in the cache, or with --mutate=copy a copy of it", func(value string) error {
		if value != "cached" && value != "copy" {
			return errors.New("it takes cached or copy")
		}
		c.mutation = value
		return nil
	})
	p.Flags.Lookup("mutate").NoOptDefVal = "cached"

	p.Run(func(ctx context.Context, config *rest.Config) error {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if err := program.CheckNamespace(ctx, clientset, c.namespace); err != nil {
			return err
		}
		return c.run(ctx, clientset)
	})
}

// chapter is what the flags ask for.
type chapter struct {
	selection
	out      *program.Printer
	terminal io.Writer
	in       *os.File
	queries  []string // instead of those that in has
	limit    uint32
	mutation string     // cached, copy, or empty for none
	requests func() int // how many the program has sent so far
}

// run answers queries until there are no more, or ctx ends.
func (c chapter) run(ctx context.Context, clientset kubernetes.Interface) error {
	ctx, cancel := context.WithCancelCause(ctx)
	factory := newFactory(clientset, c.selection)
	defer func() {
		cancel(nil)        // ends the informer,
		factory.Shutdown() // which waits for it
	}()
	if err := handleWatchErrors(c.out, cancel, factory.Core().V1().Pods().Informer()); err != nil {
		return err
	}
	pods := factory.Core().V1().Pods()
	informer := pods.TypedInformer()
	if err := informer.AddTypedIndexers(podIndexers); err != nil {
		return err
	}
	start := time.Now()
	factory.StartWithContext(ctx)
	// The informer's own checker is enough: who reads the store needs it filled, and there are no handlers to wait
	// for. Before that, the lister would answer as well: that there are no pods.
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
		return deniedCause(ctx)
	}
	c.out.Line("SYNCED", "%d pod(s) in %s", len(informer.GetIndexer().ListKeys()), time.Since(start).Round(time.Millisecond))

	a := answerer{out: c.out, pods: podCache{pods.Lister(), informer.GetTypedIndexer()}, limit: int(c.limit), requests: c.requests}
	if c.mutation != "" {
		if err := mutate(ctx, a.pods, c.mutation == "copy", c.out); err != nil {
			return err
		}
	}
	prompt := querylang.Prompt[query]{Language: language, Answer: a.answer, Out: c.out}
	for _, text := range c.queries {
		if err := prompt.Ask(text); err != nil {
			return err
		}
	}
	if len(c.queries) > 0 {
		return nil
	}
	if term.IsTerminal(int(c.in.Fd())) {
		prompt.Terminal = c.terminal
		c.out.Line("KEYS", "name, namespace, node, image, owner, label, each as key=value; Ctrl-D ends")
	}
	return prompt.Run(ctx, c.in)
}
