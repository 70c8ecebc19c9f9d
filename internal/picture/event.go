package picture

import (
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
)

// Event is something that has happened in the program. The scripts of the page get it as JSON.
type Event struct {
	Seq  int64            `json:"seq"`  // counts all events, from 1
	At   int64            `json:"at"`   // microseconds since the program's start
	Part string           `json:"part"` // of the drawing, in which it has happened
	What string           `json:"what"` // such as "ADDED" or "merged"
	Kind string           `json:"kind,omitempty"`
	Key  cache.ObjectName `json:"-"` // of the object; the page gets it as text
	N    int              `json:"n,omitempty"`
	Note string           `json:"note,omitempty"`

	Owner string `json:"owner,omitempty"` // the kind and key of the object's controller, at the store
	Name  string `json:"key,omitempty"`   // Key as text
}

// kept is how many events the ring has room for: 2,000 objects that arrive at once, each with 8 hops.
const kept = 1 << 14

// log is a ring of the last events. To add one never waits for a reader.
type log struct {
	mu     sync.Mutex
	ring   []Event
	last   int64 // Seq of the newest
	origin time.Time
}

func (l *log) start(origin time.Time) {
	l.ring, l.origin = make([]Event, kept), origin
}

// now returns the microseconds since the program's start.
func (l *log) now() int64 { return time.Since(l.origin).Microseconds() }

// add adds an event and returns its Seq.
func (l *log) add(e Event) int64 {
	e.At = l.now()
	l.mu.Lock()
	l.last++
	e.Seq = l.last
	l.ring[e.Seq%kept] = e
	l.mu.Unlock()
	return e.Seq
}

// after returns at most limit events behind seq, and how many are no longer there between them and seq.
func (l *log) after(seq int64, limit int) (events []Event, left int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if oldest := max(l.last-kept+1, 1); seq+1 < oldest {
		left = oldest - seq - 1
		seq = oldest - 1
	}
	for seq < l.last && len(events) < limit {
		seq++
		events = append(events, l.ring[seq%kept])
	}
	for i := range events {
		if events[i].Key != (cache.ObjectName{}) {
			events[i].Name = events[i].Key.String()
		}
	}
	return events, left
}

// newest returns the Seq of the newest event.
func (l *log) newest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}
