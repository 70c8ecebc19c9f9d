package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is one request of a controller, as the proxy saw it.
type Request struct {
	Who      string // the process: "1" is the first that was started
	At       time.Time
	Verb     string // as RBAC names it: get, list, watch, create, update, patch, delete
	Group    string // of the resource; empty for Kubernetes' first one
	Resource string // with its subresource: databasemanagers/status
	Name     string // of the object; of one to be created, too
	Code     int    // of the server's answer; 0 if there was none
	Broken   string // what a fault made of it; empty without one
}

// isWrite reports whether a request changes what a controller answers for. Events are for people, the Lease is for elections, and
// reviews are questions.
func (r Request) isWrite() bool {
	switch r.Verb {
	case "get", "list", "watch":
		return false
	}
	return r.Resource != "events" && r.Resource != "leases" && !strings.HasSuffix(r.Resource, "reviews")
}

// about reports whether a request is about the object of that name, or about one that is named after it: the name is a part of its own,
// between dashes. Empty stands for all.
func (r Request) about(name string) bool {
	return name == "" || strings.Contains("-"+r.Name+"-", "-"+name+"-")
}

// Fault breaks a write on its way, or another request if it names a verb.
type Fault struct {
	Who      string      // the process; empty for all
	Name     string      // of the objects that it is about: see Request.about
	Verb     string      // empty for all that write; anyVerb
	Resource string      // empty for all
	Nth      int         // 1 breaks the first of these requests, 0 breaks each
	Chance   func() bool // for each of them; nil: always
	Done     bool        // the server gets the write; the controller does not get the server's answer
	Code     int         // what the controller gets instead; 0: the connection is closed
	Kill     bool        // the controller is killed, and gets nothing

	seen int
	hit  *Request
}

const anyVerb = "*"

// matches reports whether a fault is about a request.
func (f *Fault) matches(r *Request) bool {
	switch {
	case f.Who != "" && f.Who != r.Who:
		return false
	case f.Verb == "" && !r.isWrite() || f.Verb != "" && f.Verb != anyVerb && f.Verb != r.Verb:
		return false
	}
	return r.about(f.Name) && (f.Resource == "" || f.Resource == r.Resource)
}

// what says what becomes of a request.
func (f *Fault) what() string {
	done := map[bool]string{true: "done, ", false: "not done, "}[f.Done]
	switch {
	case f.Kill:
		return done + "controller killed"
	case f.Code == 0:
		return done + "connection closed"
	}
	return fmt.Sprintf("%sanswered %d", done, f.Code)
}

// Tap sits where all requests of a promise's controllers pass. It records them, and says which of them are to be broken.
type Tap struct {
	mu       sync.Mutex
	requests []*Request
	faults   []*Fault
}

// begin records a request, and returns the fault that it meets, or nil.
func (t *Tap) begin(r *Request) *Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.At = time.Now()
	t.requests = append(t.requests, r)
	for _, f := range t.faults {
		if !f.matches(r) {
			continue
		}
		f.seen++
		if (f.Nth == 0 || f.Nth == f.seen) && (f.Chance == nil || f.Chance()) {
			f.hit, r.Broken = r, f.what()
			return f
		}
	}
	return nil
}

// end records the code of the server's answer.
func (t *Tap) end(r *Request, code int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Code = code
}

// add puts a fault in the way of the requests to come. The function that it returns takes it away.
func (t *Tap) add(f *Fault) (remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, f)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.faults = slices.DeleteFunc(t.faults, func(other *Fault) bool { return other == f })
	}
}

// hit returns the request that a fault has met last, or nil.
func (t *Tap) hit(f *Fault) *Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f.hit
}

// all returns the requests so far, oldest first, that the function selects.
func (t *Tap) all(selects func(Request) bool) (selected []Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.requests {
		if selects(*r) {
			selected = append(selected, *r)
		}
	}
	return selected
}

// writes returns the writes about an object since a time.
func (t *Tap) writes(name string, since time.Time) []Request {
	return t.all(func(r Request) bool { return r.isWrite() && r.about(name) && !r.At.Before(since) })
}
