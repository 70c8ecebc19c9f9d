package main

import (
	"context"
	"errors"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/connect"
)

// refused is the cause of a run's end that the server refuses.
type refused struct{ error }

// handleWatchErrors says what to do when an informer can't list or watch. The informer tries again in any case, with a
// growing delay and for ever: as it is, a user who may not list waits in silence, unless somebody reads the log.
func handleWatchErrors(factory informers.SharedInformerFactory, out *printer, cancel context.CancelCauseFunc) error {
	handler := func(ctx context.Context, reflector *cache.Reflector, err error) {
		denied := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
		switch {
		case denied && reflector.LastSyncResourceVersion() == "":
			cancel(refused{err}) // nothing was ever listed: there is no store to go on with
		case apierrors.IsResourceExpired(err) || errors.Is(err, io.EOF):
			cache.DefaultWatchErrorHandler(ctx, reflector, err) // it knows that this is no failure
		default:
			// What is in the store stays there, and grows old.
			out.line("RETRY", "%s: %s", reflector.TypeDescription(), connect.Explain(err))
		}
	}
	return factory.Core().V1().Pods().Informer().SetWatchErrorHandlerWithContext(handler)
}

// refusal returns why ctx has ended if it was the server's refusal, and nil if it was Ctrl-C or --duration.
func refusal(ctx context.Context) error {
	var r refused
	if errors.As(context.Cause(ctx), &r) {
		return r.error
	}
	return nil
}
