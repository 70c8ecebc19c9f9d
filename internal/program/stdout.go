package program

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// Stdout is where a program prints. The first write that fails ends the run: a user who saves the output to a full disk
// must learn that it is incomplete.
type Stdout struct {
	mu   sync.Mutex
	out  io.Writer
	err  error  // of the first write that failed
	stop func() // ends the run
}

// Write writes to the process's stdout. After a write that failed it writes nothing more.
func (s *Stdout) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.out.Write(p)
	if err != nil {
		s.err = err
		s.stop()
	}
	return n, err
}

// failure returns the error of the first write that failed. A closed pipe is none: its reader, such as head, has read enough.
func (s *Stdout) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || errors.Is(s.err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("%w: part of the output is lost; make room, or send the output elsewhere", s.err)
}
