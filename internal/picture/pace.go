package picture

import (
	"sync"
	"time"
)

// In slow motion and in a pause, the queue's delays are so many times longer, but only as long as this at most, or as they were.
const (
	stretched   = 100
	stretchedTo = 10 * time.Second
)

// pace decides how long the program waits between two hops. The zero pace never waits.
type pace struct {
	mu      sync.Mutex
	delay   time.Duration // slow motion
	paused  bool
	waiting []chan struct{} // the hops that wait in a pause, the first that came first
	changed chan struct{}   // closed when delay or paused change; nil if nobody waits
}

// set sets slow motion and the pause. What waits now goes by the new pace.
func (p *pace) set(delay time.Duration, paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.paused = delay, paused
	p.waiting = nil
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// step lets the hop go on that has waited longest in a pause, and returns whether there was one.
func (p *pace) step() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return false
	}
	close(p.waiting[0])
	p.waiting = p.waiting[1:]
	return true
}

// wait waits as set says, or until the program ends.
func (p *pace) wait(ended <-chan struct{}) {
	for {
		p.mu.Lock()
		if !p.paused && p.delay == 0 {
			p.mu.Unlock()
			return
		}
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed, step := p.changed, make(chan struct{})
		var timer <-chan time.Time // nil in a pause: it never comes
		if p.paused {
			p.waiting = append(p.waiting, step)
		} else {
			timer = time.After(p.delay)
		}
		p.mu.Unlock()
		select {
		case <-timer:
			return
		case <-step:
			return
		case <-ended:
			return
		case <-changed:
		}
	}
}

// stretch returns how long a delay of the queue is.
func (p *pace) stretch(delay time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.delay > 0 || p.paused {
		return max(delay, min(delay*stretched, stretchedTo))
	}
	return delay
}

func (p *pace) state() (delay time.Duration, paused bool, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay, p.paused, len(p.waiting)
}

// faults are what the buttons let go wrong.
type faults struct {
	mu    sync.Mutex
	fail  int           // so many of the next syncs fail
	hold  chan struct{} // a worker that begins a sync waits until it is closed; nil: none waits
	block chan struct{} // the same for handlers
}

// toggle closes a gate, or opens it, and returns whether it is closed now.
func (f *faults) toggle(gate *chan struct{}) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *gate != nil {
		close(*gate)
		*gate = nil
		return false
	}
	*gate = make(chan struct{})
	return true
}

// pass waits while the gate is closed, or until the program ends.
func (f *faults) pass(gate *chan struct{}, ended <-chan struct{}) {
	f.mu.Lock()
	closed := *gate
	f.mu.Unlock()
	if closed == nil {
		return
	}
	select {
	case <-closed:
	case <-ended:
	}
}

// failNext lets one more sync fail, and returns how many will.
func (f *faults) failNext() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail++
	return f.fail
}

// failed returns whether a sync that begins now has to fail.
func (f *faults) failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == 0 {
		return false
	}
	f.fail--
	return true
}

func (f *faults) state() (failing int, holding, blocking bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail, f.hold != nil, f.block != nil
}
