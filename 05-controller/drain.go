package main

import (
	"sync"
	"time"
)

// drain shuts the queue down, waits for the workers, and names each key that they could not sync any more. When it
// takes too long it cuts what they have in hand.
//
// ShutDown lets nothing in, hands out what is queued, and then tells the workers to end. ShutDownWithDrain sounds
// like more and is less: it waits for keys in work only, and with the workers idle for none of those in the queue.
// Keys that wait for a retry are in neither. They are lost with the process, and the next one begins with a list
// that has them all again.
func (c *Controller) drain(workers *sync.WaitGroup, cut func()) {
	c.out.Line("DRAIN", "%d in work, %d queued, %d failed before", c.working.Load(), c.queue.Len(), len(c.backoff.failed()))
	c.queue.ShutDown()
	// Kubernetes gives a pod 30 s from SIGTERM to SIGKILL, which would leave no time to name anything.
	timer := time.AfterFunc(c.drainFor, cut)
	defer timer.Stop()
	workers.Wait()
	for _, key := range c.backoff.failed() {
		c.out.Line("LEFT", "%s is due for attempt %d", key, c.queue.NumRequeues(key)+1)
	}
	c.out.Line("DRAINED", "all workers are done, after %d sync(s) and %d write(s)", c.syncs.Load(), c.writes.Load())
}
