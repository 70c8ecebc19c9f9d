package main

import (
	"errors"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/tools/cache"
)

var errMadeToFail = errors.New("made to fail")

// trouble is what a sync of the real world has: it takes time, and it fails.
type trouble struct {
	work     time.Duration
	failRate float64
	failKey  cache.ObjectName
}

// around returns sync with trouble.
func (t trouble) around(sync func(cache.ObjectName) error) func(cache.ObjectName) error {
	return func(key cache.ObjectName) error {
		time.Sleep(t.work)
		if key == t.failKey || rand.Float64() < t.failRate {
			return errMadeToFail
		}
		return sync(key)
	}
}
