// faults.go: syncs that take long, and syncs that fail.
// Before: drain.go. Next: burst.go.

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/tools/cache"
)

// faults makes syncs slow, and makes some of them fail.
type faults struct {
	delay    time.Duration
	failRate float64
	failKey  cache.ObjectName
}

type syncFunc = func(context.Context, cache.ObjectName) error

// wrap returns syncHandler with faults.
func (f faults) wrap(syncHandler syncFunc) syncFunc {
	return func(ctx context.Context, key cache.ObjectName) error {
		time.Sleep(f.delay) // and not until ctx ends: this stands for work that cannot be cancelled
		if key == f.failKey || rand.Float64() < f.failRate {
			return errInjected
		}
		return syncHandler(ctx, key)
	}
}

var errInjected = errors.New("made to fail")
