package picture

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"
)

// message is what a page gets, as one line of JSON.
type message struct {
	Run    string  `json:"run"` // another one: the program was started again
	Now    int64   `json:"now"` // microseconds since the program's start
	Events []Event `json:"events,omitempty"`
	Left   int64   `json:"left"`            // events that were left out, because the page was slower than the program
	State  *whole  `json:"state,omitempty"` // the first message, and the first after events were left out
	Status status  `json:"status"`          // counts that no event carries
}

// whole is the state of all parts.
type whole struct {
	Seq     int64                    `json:"seq"`    // it has the effect of the events up to this one, and maybe of some after it
	Stores  map[string][]shownObject `json:"stores"` // by kind
	Order   []string                 `json:"order"`  // the workqueue's keys, the next first
	Hands   []shownHand              `json:"hands"`
	Waiting []shownWait              `json:"waiting"`
	Merges  map[string]int           `json:"merges"` // how many times a key was merged since a worker has taken it last
}

type shownObject struct {
	Key   string `json:"key"`
	Owner string `json:"owner,omitempty"` // its kind and key
}

type shownHand struct {
	Key   string `json:"key"` // empty: free
	Dirty bool   `json:"dirty"`
	Since int64  `json:"since"`
}

type shownWait struct {
	Key string `json:"key"`
	Due int64  `json:"due"` // microseconds since the program's start
}

// status is small, and comes with each message.
type status struct {
	Informers []shownInformer `json:"informers"`
	Delay     int64           `json:"delay"` // of slow motion, in milliseconds
	Paused    bool            `json:"paused"`
	Stopped   int             `json:"stopped"` // hops that wait in the pause
	Failing   int             `json:"failing"`
	Holding   bool            `json:"holding"`
	Blocking  bool            `json:"blocking"`
	Cut       string          `json:"cut"` // refused, noroute, silent, or nothing
	Updating  bool            `json:"updating"`
	Leader    string          `json:"leader"` // "this process", the identity of another one, or nothing
}

type shownInformer struct {
	Kind    string `json:"kind"`
	Watch   string `json:"watch"`
	Lists   int    `json:"lists"`
	FIFO    int    `json:"fifo"`
	Heard   int64  `json:"heard"`   // microseconds since the program's start; 0: nothing yet
	Buffers []int  `json:"buffers"` // notifications that wait, for each handler
	Busy    []bool `json:"busy"`    // whether the handler is at work
}

const (
	tick     = 50 * time.Millisecond // between two messages
	batch    = 2000                  // events in a message, at most
	timeline = 1000                  // events that a new page gets
	beat     = 2 * time.Second       // after which a message comes even if nothing has happened
)

// stream sends what happens, until the page is closed or the program ends. It reads the ring at the page's own speed.
func (p *Picture) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	seq, first := int64(0), true
	var last status
	var sent time.Time
	for {
		m := message{Run: p.run, Now: p.log.now(), Status: p.status()}
		var left int64
		if m.Events, left = p.log.after(seq, batch); first || left > 0 {
			// The state, and the events before it for the timeline. Those that come while the state is read come after it.
			m.State = p.whole()
			begin := max(seq, m.State.Seq-timeline)
			m.Events, left = p.log.after(begin, batch)
			if !first {
				m.Left = begin - seq + left
			}
			first = false
		}
		if n := len(m.Events); n > 0 {
			seq = m.Events[n-1].Seq
		}
		if m.State != nil || len(m.Events) > 0 || !reflect.DeepEqual(m.Status, last) || time.Since(sent) > beat {
			if json.NewEncoder(w).Encode(m) != nil {
				return
			}
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			last, sent = m.Status, time.Now()
		}
		for range 1 + 4*min(m.Left, 1) { // a page that is too slow gets less often something
			select {
			case <-ticker.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}

func (p *Picture) status() (s status) {
	var delay time.Duration
	delay, s.Paused, s.Stopped = p.pace.state()
	s.Delay = delay.Milliseconds()
	s.Failing, s.Holding, s.Blocking = p.faults.state()
	p.mu.Lock()
	informers := slices.Clone(p.informers)
	s.Cut, s.Updating = p.cut, p.updating
	if p.leader != nil {
		s.Leader = p.leader()
	}
	p.mu.Unlock()
	for _, i := range informers {
		i.mu.Lock()
		shown := shownInformer{Kind: i.kind, Watch: i.Watch, Lists: i.Lists, FIFO: i.FIFO, Heard: i.Heard}
		for _, h := range i.handlers {
			shown.Buffers = append(shown.Buffers, max(0, i.sent-h.called))
			shown.Busy = append(shown.Busy, h.called > h.returned)
		}
		i.mu.Unlock()
		s.Informers = append(s.Informers, shown)
	}
	return s
}

func (p *Picture) whole() *whole {
	p.mu.Lock()
	informers, q := slices.Clone(p.informers), p.queue
	p.mu.Unlock()
	w := &whole{
		Seq: p.log.newest(), Stores: map[string][]shownObject{}, Order: []string{}, Hands: []shownHand{}, Waiting: []shownWait{},
		Merges: map[string]int{},
	}
	for _, i := range informers {
		keys := i.store.ListKeys()
		slices.Sort(keys)
		shown := make([]shownObject, len(keys))
		for n, key := range keys {
			object, _, _ := i.store.GetByKey(key) // gone meanwhile: it has no owner
			shown[n] = shownObject{key, ownerOf(object)}
		}
		w.Stores[i.kind] = shown
	}
	if q == nil {
		return w
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range q.order {
		w.Order = append(w.Order, key.String())
	}
	for _, h := range q.hands {
		shown := shownHand{Dirty: h.dirty, Since: h.since}
		if h.key != (cache.ObjectName{}) {
			shown.Key = h.key.String()
		}
		w.Hands = append(w.Hands, shown)
	}
	for key, times := range q.merges {
		w.Merges[key.String()] = times
	}
	for key, due := range q.due {
		w.Waiting = append(w.Waiting, shownWait{key.String(), due.Sub(p.log.origin).Microseconds()})
	}
	return w
}
