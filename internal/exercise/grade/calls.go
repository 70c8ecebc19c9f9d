package grade

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/client-go/rest"
)

// Calls are calls of an answer that sends requests to a server, under conditions that are not as good as usual.
// [Calls.FailEachRequest] and [Calls.EndContext] are used like this:
//
//	calls := &grade.Calls{
//		Name: "CreateService", Config: config, Done: "the Service is there",
//		New: func(number int) grade.Case {
//			configMap := ... // a new one, whose name has the number
//			return grade.Case{
//				Call: func(ctx context.Context, config *rest.Config) error {
//					return createService(ctx, typedcorev1.NewForConfigOrDie(config).Services(namespace), configMap)
//				},
//				State: func() string { ... return "there is no Service" }, // or Done
//			}
//		},
//	}
//	calls.FailEachRequest(t)
//	calls.EndContext(t)
type Calls struct {
	Name   string // of the answer's function
	Config *rest.Config
	// New makes the objects for one case. Each case has another number: the objects have it in their names, and so all cases
	// can have the same namespace.
	New func(number int) Case
	// Done is what State says when the answer has done its work.
	Done string
	// Right says what is right when a request fails; ErrorOrDone if it is nil.
	Right func(Request, Fault) Outcome
	// More are faults besides the usual ones, such as [Busy] and [Terminating].
	More []Fault
	// Look says where to look when an error of a request is not treated well.
	Look string

	cases    int
	unused   *Case     // one in which nothing was written
	requests []Request // what the answer sends when no request fails
}

// Case is an answer's work on objects of its own.
type Case struct {
	// Call calls the answer, with clients that are made with this config. It is called again if it has returned an error.
	Call func(ctx context.Context, config *rest.Config) error
	// State says in a few words what the server holds: a part of a verdict. It leaves out what only one case has, such as the
	// number and UIDs.
	State func() string
	// Check, if it is not nil, looks at what has become of a call in which a request has failed, before the outcome is judged and
	// before the next call.
	Check func(Failed)
}

// Failed is a call of an answer in which a request has failed.
type Failed struct {
	Request  Request
	Fault    Fault
	Err      error     // what the answer has returned
	Requests []Request // all of the call
}

// String says which request has failed, and how.
func (f Failed) String() string { return f.Request.String() + ", " + string(f.Fault) }

// Outcome is what an answer makes of a fault.
type Outcome int

// The outcomes.
const (
	// ErrorOrDone is an error, or nil and the work is done: the answer has tried again by itself.
	ErrorOrDone Outcome = iota
	// Error is an error.
	Error
	// Done is nil, and the work is done.
	Done
	// Anything is an error or nil.
	Anything
	// NotTried means that this fault is left out for this request.
	NotTried
)

// most is how many of an answer's requests fail. It is more than correct answers send.
const most = 12

// FailEachRequest calls the answer with each of its requests failing, by each fault. The answer's outcome must be right. If it
// is an error, the next call, without a fault, must return nil, and the work must be done then.
//
// The faults follow one another in one case, as long as the answer returns errors. After a write, the next request has a new
// one. Of requests with the same method and resource, only the first has all faults.
func (c *Calls) FailEachRequest(t *T) {
	t.Helper()
	c.learn(t)
	var work *work
	for i, request := range c.requests[:min(most, len(c.requests))] {
		faults := faultsOfWrites
		if request.Reads() {
			faults = faultsOfReads
		}
		faults = slices.Insert(slices.Clone(faults), 2, c.More...) // the last ones stay the last
		if slices.ContainsFunc(c.requests[:i], request.isLike) {
			faults = faults[:1] // for the write of a second child, for example
		}
		if work != nil && work.wrote {
			c.mend(t, work)
			work = nil
		}
		if work != nil {
			work.chosen = request.isNumber
		}
		for _, fault := range faults {
			if c.right(request, fault) == NotTried || fault == Terminating && request.Method != http.MethodPost {
				continue
			}
			if work == nil || !c.fail(t, work, fault) {
				work = c.begin(request)
				c.fail(t, work, fault)
			}
			if work.over {
				work = nil
			}
		}
	}
	if work != nil {
		c.mend(t, work)
	}
}

// learn calls the answer without a fault, and remembers what it sends.
func (c *Calls) learn(t *T) {
	t.Helper()
	if c.requests != nil {
		return
	}
	one := c.next()
	config, requests := Failing(c.Config, 0, "")
	expected := fmt.Sprintf("%s returns nil, and %s", c.Name, c.Done)
	t.Doing("%s", expected)
	if err := one.Call(context.WithValue(t.Context(), contextKey{}, true), config); err != nil {
		t.Reject(expected, fmt.Sprintf("it returns: %v", err), "the error")
	}
	if state := one.State(); state != c.Done {
		t.Reject(expected, state, "README.md: what is expected?")
	}
	c.requests = requests.All()
}

func (c *Calls) next() Case {
	if unused := c.unused; unused != nil {
		c.unused = nil
		return *unused
	}
	c.cases++
	return c.New(c.cases)
}

func (c *Calls) right(request Request, fault Fault) Outcome {
	if c.Right == nil {
		return ErrorOrDone
	}
	return c.Right(request, fault)
}

// work is a case whose work is not done yet.
type work struct {
	Case
	chosen func(Request) bool // the request that fails
	failed Failed             // the last one that has failed
	wrote  bool               // a write has reached the server
	over   bool
}

// begin begins a case in which the request with that number fails.
func (c *Calls) begin(request Request) *work {
	return &work{Case: c.next(), chosen: request.isNumber}
}

// fail calls the answer with a fault. It returns false if the answer has not sent the request that should fail.
func (c *Calls) fail(t *T, w *work, fault Fault) bool {
	t.Helper()
	config, requests := failing(c.Config, fault, w.chosen)
	t.Doing("%s returns, after a request %s", c.Name, fault)
	err := w.Call(t.Context(), config)
	w.wrote = w.wrote || requests.wrote
	if requests.failed == nil {
		if w.failed.Fault != "" {
			c.mended(t, w, err) // it was a call without a fault
		}
		w.over = true
		return false
	}
	request := *requests.failed
	w.chosen = request.isRepeated // next time, it can have another number: what was done by then is not sent again
	w.failed = Failed{Request: request, Fault: fault, Err: err, Requests: requests.All()}
	outcome := c.right(request, fault)
	if outcome == NotTried {
		w.over = true // the answer does not always send the same
		return true
	}
	if w.Check != nil {
		w.Check(w.failed)
	}
	look := c.Look
	if look == "" {
		look = "what becomes of the error of this request?"
	}
	switch {
	case outcome == Error && err == nil:
		t.Reject(fmt.Sprintf("%s: %s returns an error", w.failed, c.Name), "it returns nil", look)
	case outcome == Done && err != nil:
		t.Reject(fmt.Sprintf("%s: %s tries again, and returns nil", w.failed, c.Name), fmt.Sprintf("it returns: %v", err), look)
	case outcome == Done, outcome == ErrorOrDone && err == nil:
		if state := w.State(); state != c.Done {
			t.Reject(fmt.Sprintf("%s: %s returns an error, or nil when %s", w.failed, c.Name, c.Done), "it returns nil, and "+state, look)
		}
		w.over = true
	case err == nil: // the next call would begin where this one has ended
		c.mend(t, w)
		w.over = true
	}
	return true
}

// mend calls the answer without a fault.
func (c *Calls) mend(t *T, w *work) {
	t.Helper()
	t.Doing("%s: the next call mends that", w.failed)
	c.mended(t, w, w.Call(t.Context(), c.Config))
}

// mended checks that a call without a fault has done the work. err is what it has returned.
func (c *Calls) mended(t *T, w *work, err error) {
	t.Helper()
	expected := fmt.Sprintf("%s: the next call mends that, so that %s", w.failed, c.Done)
	const look = "the second call finds what the first one has left"
	if err != nil {
		t.Reject(expected, fmt.Sprintf("it returns: %v", err), look)
	}
	if state := w.State(); state != c.Done {
		t.Reject(expected, "after the next call, "+state, look)
	}
}

// EndContext checks that the answer's requests have the context that it is given. It calls the answer with a context that has
// ended, and with contexts that end before one of its requests: it must return an error then, and send nothing more.
func (c *Calls) EndContext(t *T) {
	t.Helper()
	c.learn(t)
	const look = "ctx: each call of a client has it as its first argument"
	for _, request := range c.requests {
		if !request.hasContext {
			t.Reject(fmt.Sprintf("each request has the ctx that %s is given", c.Name), request.String()+", has another", look)
		}
	}
	for number := range len(c.requests) + 1 {
		if number > 2 && number < len(c.requests) {
			continue // before the first two and the last one: that is enough
		}
		one := c.next()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		when := "ctx ends before the call"
		if number == 0 {
			cancel()
		}
		config, requests := ending(c.Config, number, cancel)
		t.Doing("%s returns, when ctx ends before its %s request", c.Name, ordinal(max(number, 1)))
		err := one.Call(ctx, config)
		if !requests.wrote {
			c.unused = &one
		}
		if ctx.Err() == nil {
			continue // it has sent fewer requests than the first time
		}
		if number > 0 {
			when = "ctx ends before " + requests.All()[number-1].String()
		}
		if late := requests.late; len(late) > 0 {
			t.Reject(fmt.Sprintf("%s: %s sends nothing more", when, c.Name), "it sends "+late[0].String(), look)
		}
		if err == nil && one.State() != c.Done {
			t.Reject(fmt.Sprintf("%s: %s returns an error", when, c.Name), "it returns nil",
				"the error that a client returns when ctx has ended")
		}
	}
}
