// Package cutter breaks the network between a program and its API server on purpose.
//
// A [Cutter] sits in rest.Config's Dial. The program under it is not changed and does not know:
// to it, the cable was pulled.
package cutter

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// Cutter dials connections, remembers them, and can drop them all.
type Cutter struct {
	After time.Duration // how long to wait before a cut; 0 for no cut at all
	For   time.Duration // how long new connections are refused after it
	Times uint          // how many cuts, each After the one before has healed

	// Unreachable lets new connections fail as if the network were down. Without it they are refused, as by a
	// machine that is up and has no server on that port. Clients may treat the two differently: informers do.
	Unreachable bool

	dialer net.Dialer

	mu   sync.Mutex
	cut  bool
	open map[net.Conn]struct{}
}

// AddFlags adds --cut-after, --cut-for, --cut-times and --cut-unreachable.
func (c *Cutter) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&c.After, "cut-after", 0, "break it: cut the connection to the server after this time (0: never)")
	flags.DurationVar(&c.For, "cut-for", 0, "break it: refuse new connections for this time after the cut")
	flags.UintVar(&c.Times, "cut-times", 1, "break it: cut this many times")
	flags.BoolVar(&c.Unreachable, "cut-unreachable", false, "break it: let new connections find the network unreachable, instead of refusing them")
}

// Dial connects as net.Dialer does, unless the connection is cut. It is for rest.Config's Dial.
func (c *Cutter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		conn.Close()
		why := syscall.ECONNREFUSED
		if c.Unreachable {
			why = syscall.ENETUNREACH
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: why}
	}
	if c.open == nil {
		c.open = map[net.Conn]struct{}{}
	}
	c.open[conn] = struct{}{}
	return &connection{Conn: conn, cutter: c}, nil
}

// Cut drops all connections and refuses new ones until Restore. It returns how many it dropped.
func (c *Cutter) Cut() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	dropped := len(c.open)
	for conn := range c.open {
		conn.Close()
	}
	clear(c.open)
	return dropped
}

// Restore lets new connections through again.
func (c *Cutter) Restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
}

// Run cuts and restores as After, For and Times say, and reports each on out. It returns when it is done
// or ctx ends.
func (c *Cutter) Run(ctx context.Context, out io.Writer) {
	if c.After <= 0 {
		return
	}
	for range c.Times {
		if !wait(ctx, c.After) {
			return
		}
		now := "are refused"
		if c.Unreachable {
			now = "find no network"
		}
		fmt.Fprintf(out, "cutter: dropped %d connection(s), new ones %s for %s\n", c.Cut(), now, c.For)
		if !wait(ctx, c.For) {
			return
		}
		c.Restore()
		fmt.Fprintln(out, "cutter: connections are let through again")
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

// connection forgets itself when it is closed.
type connection struct {
	net.Conn
	cutter *Cutter
}

func (c *connection) Close() error {
	c.cutter.mu.Lock()
	delete(c.cutter.open, c.Conn)
	c.cutter.mu.Unlock()
	return c.Conn.Close()
}
