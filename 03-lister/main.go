// Chapter 3: the lister and the indexer, which answer questions without a request.
//
// The informer of chapter 2 keeps a copy of the server's pods in its store. Here nobody waits for what changes:
// the program reads queries, such as "node=node-000003 and image=nginx", and answers them from the store.
//
// Read in this order: main.go, informer.go (the factory), indexers.go (what pods are found by), query.go (the ways
// to find them), answer.go, mutate.go (what comes of writing into the cache).
package main

import (
	"context"
	"fmt"
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
	s := selection{labels: labels.Everything()}
	p.Flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", func(value string) (err error) {
		s.labels, err = labels.Parse(value)
		return err
	})
	var queries []string
	p.Flags.Func("query", "query to answer, repeatable, such as \"node=node-000003 and image=nginx\" (default: those on stdin)", func(value string) error {
		queries = append(queries, value)
		_, err := language.Parse(value)
		return err
	})
	var limit uint32
	p.Flags.Uint32Var(&limit, "limit", 10, "names to print of each answer")
	var mutate string
	p.Flags.Func("mutate", "break it: change a pod in the cache, or with --mutate=copy a copy of it", func(value string) error {
		if value != "cached" && value != "copy" {
			return fmt.Errorf("want cached or copy")
		}
		mutate = value
		return nil
	})
	p.Flags.Lookup("mutate").NoOptDefVal = "cached"

	p.Run(func(ctx context.Context, config *rest.Config) error {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if err := program.CheckNamespace(ctx, clientset, s.namespace); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		factory := newFactory(clientset, s)
		defer factory.Shutdown() // waits for the informers,
		defer cancel()           // which this ends first

		pods := factory.Core().V1().Pods()
		informer := pods.TypedInformer()
		if err := informer.AddTypedIndexers(podIndexers); err != nil {
			return err
		}
		start := time.Now()
		factory.StartWithContext(ctx)
		// The informer's checker now: there are no handlers, and who reads the store needs it filled and no more.
		// Before that it would answer, too: that there are no pods.
		if !cache.WaitFor(ctx, "the first list", informer.HasSyncedChecker()) {
			return nil // Ctrl-C came first
		}

		printer := printer{out: os.Stdout, pods: podCache{pods.Lister(), informer.GetTypedIndexer()}, limit: int(limit), requests: p.Wire.Requests}
		printer.line("SYNCED", "%d pod(s) in %s", len(informer.GetIndexer().ListKeys()), time.Since(start).Round(time.Millisecond))
		if mutate != "" {
			if err := printer.mutate(ctx, mutate == "copy"); err != nil {
				return err
			}
		}
		prompt := querylang.Prompt[query]{Language: language, Answer: printer.answer, Out: os.Stdout}
		for _, query := range queries {
			if err := prompt.Ask(query); err != nil {
				return err
			}
		}
		if len(queries) > 0 {
			return nil
		}
		if prompt.Interactive = term.IsTerminal(int(os.Stdin.Fd())); prompt.Interactive {
			printer.line("KEYS", "name, namespace, node, image, owner, label, each as key=value; Ctrl-D ends")
		}
		return prompt.Run(ctx, os.Stdin)
	})
}
