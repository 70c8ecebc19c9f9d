// Package netfault breaks the network between a program and its API server on purpose.
//
// A [Cutter] is the Dial function of a rest.Config. The program above it is not changed. There are three ways to break: a
// server that is down, a network that is down, and a network that swallows all packets. [SlowWatches] breaks nothing: it
// makes an informer's store late. A [Gate] holds the watches of one resource, shows its past, or lets a watch expire.
package netfault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// dialError returns the error that the network would give.
func (c *Cutter) dialError(network string, err error) error {
	return &net.OpError{Op: "dial", Net: network, Err: cutError{err, cmp.Or(c.By, "--cut-after")}}
}

// cutError reads as the network's error.
type cutError struct {
	error
	by string
}

// CutBy returns what has ordered the cut because of which there is this error, or "" if no cutter has made it.
func CutBy(err error) string {
	var cut cutError
	errors.As(err, &cut)
	return cut.by
}

func (e cutError) Unwrap() error { return e.error }

// Cutter dials connections and can break them all.
type Cutter struct {
	After time.Duration // how long to wait before a cut; 0 for no cut at all
	For   time.Duration // how long new connections fail after it
	Times uint          // how many cuts, each After the end of the one before

	// Unreachable lets new connections fail as if the network were down. Without it they are refused, as by a
	// machine that is up and has no server on that port. Informers treat the two differently.
	Unreachable bool

	// Silent closes nothing. An open connection discards everything that is written to it, and delivers nothing more: neither
	// data nor an end. This never changes, as after a NAT has forgotten a connection. New connections hang during the cut.
	Silent bool

	By string // what has ordered the cuts; --cut-after if it is empty

	// Dialer opens the connections; net.Dialer's DialContext if it is nil.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)

	mu       sync.Mutex
	open     map[*connection]struct{}
	restored chan struct{} // closed at the end of the cut; nil without one
}

// AddFlags adds --cut-after, --cut-for, --cut-times, --cut-unreachable and --cut-silent.
func (c *Cutter) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&c.After, "cut-after", 0, "break it: cut the connection to the server after this time (0: never)")
	flags.DurationVar(&c.For, "cut-for", 0, "break it: refuse new connections for this time after the cut")
	flags.UintVar(&c.Times, "cut-times", 1, "break it: cut this many times")
	flags.BoolVar(&c.Unreachable, "cut-unreachable", false, "break it: let new connections find no network, instead of refusing them")
	flags.BoolVar(&c.Silent, "cut-silent", false, "break it: close nothing, but let all packets disappear")
}

// Dial connects as net.Dialer does, unless the connection is cut. It is for rest.Config's Dial.
func (c *Cutter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := c.Dialer
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	for {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		connection, restored := c.add(conn)
		if restored == nil {
			return connection, nil
		}
		conn.Close()
		switch {
		case c.Silent:
			select {
			case <-ctx.Done():
				return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
			case <-restored: // a packet that is sent again gets through
			}
		case c.Unreachable:
			return nil, c.dialError(network, syscall.ENETUNREACH)
		default:
			return nil, c.dialError(network, syscall.ECONNREFUSED)
		}
	}
}

// add registers a connection for the next cut. During a cut it does not, and returns the channel that its end closes.
func (c *Cutter) add(conn net.Conn) (*connection, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.restored != nil {
		return nil, c.restored
	}
	if c.open == nil {
		c.open = map[*connection]struct{}{}
	}
	added := &connection{Conn: conn, cutter: c, silenced: make(chan struct{}), closed: make(chan struct{})}
	c.open[added] = struct{}{}
	return added, nil
}

// Cut breaks all connections, and new ones until Restore. It returns how many connections were open.
func (c *Cutter) Cut() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.restored == nil {
		c.restored = make(chan struct{})
	}
	broken := len(c.open)
	for conn := range c.open {
		if c.Silent {
			close(conn.silenced)
		} else {
			conn.Conn.Close()
		}
	}
	clear(c.open)
	return broken
}

// Restore lets new connections through again.
func (c *Cutter) Restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.restored != nil {
		close(c.restored)
		c.restored = nil
	}
}

// Run cuts and restores as After, For and Times say, and reports each on out. It returns when it is done
// or ctx ends.
func (c *Cutter) Run(ctx context.Context, out io.Writer) {
	if c.After <= 0 {
		return
	}
	done, effect := "dropped", "are refused"
	switch {
	case c.Silent:
		done, effect = "silenced", "hang"
	case c.Unreachable:
		effect = "find no network"
	}
	for range c.Times {
		if !wait(ctx, c.After) {
			return
		}
		cut := c.Cut()
		if c.For == 0 {
			c.Restore()
			fmt.Fprintf(out, "cutter: %s %d connection(s), new ones work\n", done, cut)
			continue
		}
		fmt.Fprintf(out, "cutter: %s %d connection(s), new ones %s for %s\n", done, cut, effect, c.For)
		if !wait(ctx, c.For) {
			return
		}
		c.Restore()
		fmt.Fprintln(out, "cutter: new connections are let through again")
	}
}

func wait(ctx context.Context, duration time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(duration):
		return true
	}
}

// connection can be silenced, and removes itself from the cutter when it is closed.
type connection struct {
	net.Conn
	cutter           *Cutter
	silenced, closed chan struct{}
	once             sync.Once
}

// Read reads from the connection. Once it is silenced, Read returns only after Close.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.silenced:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

// Write writes to the connection. Once it is silenced, what is written goes nowhere.
func (c *connection) Write(p []byte) (int, error) {
	select {
	case <-c.closed:
		return 0, net.ErrClosed
	default:
	}
	select {
	case <-c.silenced:
		return len(p), nil
	default:
		return c.Conn.Write(p)
	}
}

func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.cutter.mu.Lock()
	delete(c.cutter.open, c)
	c.cutter.mu.Unlock()
	return c.Conn.Close()
}
