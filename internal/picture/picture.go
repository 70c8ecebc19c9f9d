// Package picture shows a running program in a browser: its informers, its queue and its workers.
//
// A chapter adds --picture with [New], lets a tracer and a queue report to it ([Picture.Hop],
// [Picture.Controller]), and serves it with [Picture.Start]. Each event (event.go) is one of the running program; nothing is
// played. A program without the flag measures nothing: all methods of a Picture that is off do nothing.
//
// Events go into one ring, which never waits for a page (event.go, stream.go). A page that has missed some gets the state
// anew, and says how many were left out. The page itself is in the folder page: an HTML file, and a script for each part.
package picture

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"example.com/client-go-workbook/internal/informertrace"
	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/program"
)

// Picture is what --picture shows. A nil Picture is off, as one whose flag was not given.
type Picture struct {
	program  *program.Program
	listener net.Listener // nil: off
	taken    error        // why the listener is not at the address that the flag asks for, or nil
	token    string       // of the printed address; who has it sees the cluster, and presses buttons
	run      string       // tells the pages of two runs apart
	chapter  chapter
	ended    chan struct{} // closed when the program ends: nothing waits any longer
	end      func()

	log     log
	pace    pace
	faults  faults
	objects objects
	config  *rest.Config // for the buttons: it has no cutters
	refused netfault.Cutter
	noRoute netfault.Cutter
	silent  netfault.Cutter

	mu        sync.Mutex
	informers []*informer // in the order in which they were created
	queue     *observed   // nil if the program has none
	leader    func() string
	syncs     atomic.Int64 // that have succeeded
	requests  int
	updating  bool   // 1,000 updates are on their way
	changes   int    // of the sample, so far
	cut       string // which cutter cuts; empty: none
	stopped   bool   // nothing is added to the group any longer
	group     sync.WaitGroup
}

// chapter is what a page shows besides the events. It stands in the chapter's picture.yaml.
type chapter struct {
	Number int
	Parts  []part
	Sample sample

	files fs.FS // the chapter's README.md and Go files, for the links
}

// part is a part of the drawing, and where the chapter has it. What it is stands in parts.go.
type part struct {
	ID          string // such as "reflector"
	Section     string // a heading of the README
	File        string // a Go file of the chapter
	Declaration string // the beginning of the line in it, such as "func podHandler"
}

// New adds --picture to a program.
func New(program *program.Program) *Picture {
	p := &Picture{program: program}
	usage := "show the program in a browser, at this address of this machine, such as 127.0.0.1:0 (0, or one in use: any free port)"
	program.Flags.Func("picture", usage, func(value string) (err error) {
		host, port, err := net.SplitHostPort(value)
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return errors.New("it takes an address of this machine only, such as 127.0.0.1:0")
		}
		if p.listener != nil {
			return errors.New("it was given twice")
		}
		p.token, p.run = rand.Text(), rand.Text()
		p.listener, err = net.Listen("tcp", value)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			p.taken = err
			if p.listener, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
				return err
			}
		case err != nil:
			return err
		case port != "0":
			p.token = keptToken()
		}
		p.ended = make(chan struct{})
		p.end = sync.OnceFunc(func() { close(p.ended) })
		p.log.start(time.Now())
		program.Writes() // the buttons do
		program.Connected = p.connected
		return nil
	})
	return p
}

// On returns whether the program was started with --picture.
func (p *Picture) On() bool { return p != nil && p.listener != nil }

// connected puts the cutters between the program and the network, and reports the program's requests.
func (p *Picture) connected(config *rest.Config) {
	p.config = rest.CopyConfig(config)
	p.noRoute.Unreachable, p.silent.Silent = true, true
	p.refused.By, p.noRoute.By = "a button of the picture", "a button of the picture"
	p.refused.Dialer, p.noRoute.Dialer, p.silent.Dialer = config.Dial, p.refused.Dial, p.noRoute.Dial
	config.Dial = p.silent.Dial
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if query := request.URL.Query(); request.Method == http.MethodGet && query.Has("watch") {
				return next.RoundTrip(request) // the tracer reports watches
			}
			p.mu.Lock()
			p.requests++
			number := p.requests
			p.mu.Unlock()
			key, _ := request.Context().Value(syncing{}).(cache.ObjectName) // empty, if no sync sends it
			what := request.Method + " " + request.URL.Path
			seq := p.log.add(Event{Part: "server", What: "request", Key: key, N: number, Note: what})
			if desired := bodyOf(request); desired != nil {
				p.objects.want(seq, desired, p.stored(desired))
			}
			response, err := next.RoundTrip(request)
			if err != nil {
				p.log.add(Event{Part: "server", What: "failed", Key: key, N: number, Note: "no answer to " + what})
			} else {
				p.log.add(Event{Part: "server", What: "response", Key: key, N: number, Note: response.Status})
			}
			return response, err
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Start serves the picture until the returned function is called, which waits for all that Start has begun. When ctx ends,
// nothing waits any longer for a button, and the program can end. files has the chapter's README.md, picture.yaml and Go files;
// the buttons' sample is in the namespace, or in default if that is empty.
func (p *Picture) Start(ctx context.Context, files fs.FS, namespace string, out *program.Printer) (stop func(), err error) {
	if !p.On() {
		return func() {}, nil
	}
	text, err := fs.ReadFile(files, "picture.yaml")
	if err != nil {
		return func() {}, err
	}
	if err := yaml.UnmarshalStrict(text, &p.chapter); err != nil {
		return func() {}, fmt.Errorf("picture.yaml: %w", err)
	}
	p.chapter.files = files
	p.chapter.Sample.Object.SetNamespace(cmp.Or(namespace, metav1.NamespaceDefault))
	ctx, cancel := context.WithCancel(ctx) // of what the buttons begin
	handler, err := p.handler(ctx)
	if err != nil {
		cancel()
		return func() {}, err
	}
	server := http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	p.group.Go(func() {
		_ = server.Serve(p.listener) // always an error, which says that it is closed
	})
	unhook := context.AfterFunc(ctx, p.end)
	if p.taken != nil {
		out.Line("PICTURE", "it has another port: %v", p.taken)
	}
	out.Line("PICTURE", "http://%s/#%s", p.listener.Addr(), p.token)
	out.Line("", "Open it in a browser: what happens is shown there. With --wire it is printed here, too. Ctrl-C ends the program.")
	if p.program.Wire.Line == nil {
		out.Quiet()
	}
	return func() {
		unhook()
		cancel()
		p.end()
		p.refused.Restore() // a connection that hangs would hold up the end
		p.noRoute.Restore()
		p.silent.Restore()
		_ = server.Close()
		p.mu.Lock()
		p.stopped = true
		p.mu.Unlock()
		p.group.Wait()
	}, nil
}

// ShowLeader lets the page show who leads: "this process", the identity of another one, or nothing.
func (p *Picture) ShowLeader(leader func() string) {
	if p.On() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.leader = leader
	}
}

// wait lets the caller wait as long as slow motion or a pause asks for.
func (p *Picture) wait() { p.pace.wait(p.ended) }

// Informer implements [informertrace.Observer].
func (p *Picture) Informer(kind string, i cache.SharedIndexInformer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.informers = append(p.informers, &informer{kind: kind, store: i.GetIndexer()})
}

var _ informertrace.Observer = &Picture{}

// Hop implements [informertrace.Observer].
func (p *Picture) Hop(hop informertrace.Hop) {
	e := Event{Kind: hop.Kind, Key: hop.Name, What: string(hop.Event)}
	i := p.informer(hop.Kind)
	switch hop.Place {
	case "LIST":
		e.Part, e.What, e.Note = "connection", "list", hop.Note
		i.update(func() { i.Lists, i.Heard = i.Lists+1, p.log.now(); e.N = i.Lists })
	case "WATCH":
		e.Part, e.What, e.Note = "connection", "watch", hop.Note
		i.update(func() {
			if i.Watch = hop.Note; i.Watch == "open" {
				i.Heard = p.log.now()
			}
		})
	case "REFLECTOR":
		e.Part = "reflector"
		if hop.Event != watch.Error { // the error of a silent connection is client-go's own
			i.update(func() { i.Heard = p.log.now() })
		}
		p.wait()
	case "TRANSFORM":
		e.Part = "transform"
		p.wait()
	case "QUEUE":
		e.Part, e.N = "fifo", hop.Length
		i.update(func() { i.FIFO = hop.Length })
	case "STORE":
		e.Part, e.Owner = "store", ownerOf(hop.Object)
		p.objects.add(p.log.add(e), hop)
		return
	case "HANDLER":
		e.Part, e.N, e.Note = "handler", hop.Handler, hop.Note
		if hop.Handler == 0 { // the tracer's own, which never waits: so many calls have all handlers been sent
			i.update(func() { i.sent++ })
			if hop.Note == "tombstone" { // no event has removed the object from the store
				p.log.add(Event{Part: "store", What: e.What, Kind: e.Kind, Key: e.Key, Note: hop.Note})
			}
			return
		}
		i.update(func() { i.handler(hop.Handler).called++ })
		p.log.add(e)
		p.wait()
		p.faults.pass(&p.faults.block, p.ended)
		return
	case "RETURNED":
		e.Part, e.What, e.N = "handler", "returned", hop.Handler
		i.update(func() { i.handler(hop.Handler).returned++ })
	}
	p.log.add(e)
}

// stored returns the object of that kind and name from a store, or nil.
func (p *Picture) stored(object *unstructured.Unstructured) runtime.Object {
	p.mu.Lock()
	at := slices.IndexFunc(p.informers, func(i *informer) bool { return i.kind == object.GetKind() })
	if at < 0 {
		p.mu.Unlock()
		return nil
	}
	store := p.informers[at].store
	p.mu.Unlock() // Hop takes this lock while the store holds its own
	stored, _, _ := store.GetByKey(cache.NewObjectName(object.GetNamespace(), object.GetName()).String())
	found, _ := stored.(runtime.Object)
	return found
}

func (p *Picture) informer(kind string) *informer {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.informers {
		if i.kind == kind {
			return i
		}
	}
	panic(fmt.Sprintf("a hop of a %s, of which there is no informer", kind)) // Informer is called first
}

// informer is what the picture knows about an informer.
type informer struct {
	kind  string
	store cache.Indexer

	mu       sync.Mutex
	Watch    string // "open", or how it has ended
	Lists    int    // how many times it has got all objects
	FIFO     int    // the queue's length
	Heard    int64  // when the reflector got a list, an open watch, or an event last, or 0
	sent     int    // notifications to each handler
	handlers []*handler
}

type handler struct{ called, returned int }

func (i *informer) update(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

// handler returns the handler with that number, from 1.
func (i *informer) handler(number int) *handler {
	for len(i.handlers) < number {
		i.handlers = append(i.handlers, &handler{})
	}
	return i.handlers[number-1]
}
