// watcherror.go: what a program does when an informer cannot list or watch.
// The same file in chapters 2 to 6.

package main

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/program"
)

// handleWatchErrors prints a line for each failed list or watch, and cancels when the server denies the first list.
//
// An informer never gives up: it retries with a growing delay, and writes to the log only. Without this handler, a
// program that has no permission to list hangs silently.
func handleWatchErrors(out *program.Printer, cancel context.CancelCauseFunc, informers ...cache.SharedInformer) error {
	handler := func(ctx context.Context, reflector *cache.Reflector, err error) {
		denied := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
		switch {
		case denied && reflector.LastSyncResourceVersion() == "":
			cancel(accessDenied{err}) // the store is empty, and stays empty
		case apierrors.IsResourceExpired(err):
			cache.DefaultWatchErrorHandler(ctx, reflector, err) // no failure: the informer lists again
		default:
			// The store keeps its objects, but they grow old.
			out.Line("RETRY", "%s: %s", reflector.TypeDescription(), connect.Explain(err))
		}
	}
	for _, informer := range informers {
		if err := informer.SetWatchErrorHandlerWithContext(handler); err != nil {
			return err
		}
	}
	return nil
}

// accessDenied is the cause with which the context is cancelled when the server denies the first list.
type accessDenied struct{ error }

// deniedCause returns the server's error if ctx was cancelled because of accessDenied, and nil after Ctrl-C or --duration.
func deniedCause(ctx context.Context) error {
	var denied accessDenied
	if errors.As(context.Cause(ctx), &denied) {
		return denied.error
	}
	return nil
}
