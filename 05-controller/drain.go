// drain.go: the end, at which each key is synced or named.
// The same file in chapters 4 to 6.

package main

import (
	"sync"
	"time"
)

// drain shuts the queue down, waits for the workers, and names each key that they could not sync any more. When drainFor
// is over, it cancels the workers' requests.
//
// ShutDown accepts no more keys, hands out those that are queued, and then lets the workers return. ShutDownWithDrain
// sounds like more and does less: it waits only for the keys that are being processed, and returns at once if none is,
// with a full queue. Keys that wait for a retry are lost with the process. The next process begins with a list, which has
// them all.
func (c *Controller) drain(workers *sync.WaitGroup, cancelWorkers func()) {
	c.out.Line("DRAIN", "%d processing, %d queued, %d due for a retry", c.processing.Load(), c.queue.Len(), len(c.queue.Waiting()))
	c.queue.ShutDown()
	// Kubernetes sends SIGKILL 30 s after SIGTERM, which leaves no time to name anything.
	timer := time.AfterFunc(c.drainFor, cancelWorkers)
	defer timer.Stop()
	workers.Wait()
	for _, key := range c.queue.Waiting() {
		c.out.Line("LEFT", "%s is due for a retry", key)
	}
	c.out.Line("DRAINED", "all workers are done, after %d sync(s)", c.syncs.Load())
}
