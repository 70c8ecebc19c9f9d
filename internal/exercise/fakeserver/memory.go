package fakeserver

import (
	"context"
	"net"
	"sync"
)

// memory is a network with one server, and the server's net.Listener. It has no sockets: in a bubble of testing/synctest,
// time stands still while a goroutine waits for one.
type memory struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemory() *memory { return &memory{dialed: make(chan net.Conn), closed: make(chan struct{})} }

// dial connects to the server.
func (m *memory) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.dialed <- server:
		return client, nil
	case <-m.closed:
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
	}
}

// Accept returns the server's end of a new connection.
func (m *memory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.dialed:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close lets Accept and dial fail.
func (m *memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// Addr returns an address for which httptest has a certificate.
func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }
