package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// web is how a large file is downloaded: whole, with the checksum that is published, and from where it broke off.
type web struct {
	client *http.Client
	first  time.Duration // so long the first answer may take: without a network, nobody waits longer
	stall  time.Duration // so long without a byte, it counts as broken off
	pause  time.Duration // before it goes on
}

func newWeb() web {
	redirect := func(request *http.Request, via []*http.Request) error {
		if request.URL.Scheme != "https" || len(via) > 5 { // else anybody on the way could change program and checksum
			return errors.New("it is redirected to http, or too often")
		}
		return nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() // with HTTPS_PROXY and NO_PROXY
	transport.DisableCompression = true                          // a mirror could unpack the archive
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true) // HTTP/2 would go on with a connection that is dead
	return web{&http.Client{Transport: transport, CheckRedirect: redirect}, 2 * time.Second, 10 * time.Second, time.Second}
}

// webFile is a file to download.
type webFile struct {
	url, sums *url.URL // sums has its checksum
	partial   string   // where it is meanwhile
	sum       string   // SHA-256
	size      int64
}

// checksum asks for the checksum. It is alone in its file, or stands before the name, as sha256sum prints it.
func (w web) checksum(ctx context.Context, f *webFile, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	response, err := w.do(ctx, http.MethodGet, f.sums, 0)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return failed(ctx, f.sums, err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		isNamed := len(words) == 2 && path.Base(strings.TrimPrefix(words[1], "*")) == path.Base(f.url.Path)
		if (len(words) == 1 || isNamed) && len(words[0]) == 2*sha256.Size { // not a word of a page
			f.sum = strings.ToLower(words[0])
			return nil
		}
	}
	return fmt.Errorf("%s has no checksum of %s", path.Base(f.sums.Path), path.Base(f.url.Path))
}

// length asks for the size.
func (w web) length(ctx context.Context, f *webFile) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.stall, fmt.Errorf("no answer within %s", w.stall))
	defer cancel()
	response, err := w.do(ctx, http.MethodHead, f.url, 0)
	if err != nil {
		return err
	}
	response.Body.Close()
	if f.size = response.ContentLength; f.size < 0 {
		return failed(ctx, f.url, errors.New("its size is not known"))
	}
	return nil
}

// errWrongSum is about a file that is not the published one.
var errWrongSum = errors.New("a wrong checksum")

// get downloads the file into its partial file, which it returns locked. Broken off, it goes on as long as each try brings more, and so
// does the next call.
func (w web) get(ctx context.Context, f webFile, progress func(bytes int64)) (file *os.File, err error) {
	if file, err = os.OpenFile(f.partial, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK { // one that has another TMPDIR
		return nil, messagef("Another program writes %s: wait for it to end.", f.partial)
	}
	here, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	err = w.whole(ctx, f, file, progress)
	if errors.Is(err, errWrongSum) && here > 0 { // what was here may be of another file
		progress(-f.size)
		if err = file.Truncate(0); err == nil {
			err = w.whole(ctx, f, file, progress)
		}
	}
	if errors.Is(err, errWrongSum) {
		os.Remove(f.partial)
		err = fmt.Errorf("%s has %w, and is removed", path.Base(f.url.Path), err)
	}
	return file, err
}

// whole downloads what is missing, and compares the checksum.
func (w web) whole(ctx context.Context, f webFile, file *os.File, progress func(bytes int64)) error {
	for done := int64(-1); ; {
		err := w.retry(ctx, func() error { return w.goOn(ctx, f, file, progress) })
		if err == nil {
			break
		}
		size, seekErr := file.Seek(0, io.SeekEnd)
		if ctx.Err() != nil || seekErr != nil || size <= done {
			return err
		}
		done = size
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if fmt.Sprintf("%x", sum.Sum(nil)) != f.sum {
		return errWrongSum
	}
	return nil
}

// retry tries three times.
func (w web) retry(ctx context.Context, do func() error) error {
	for try := 0; ; try++ {
		if err := do(); err == nil || ctx.Err() != nil || try == 2 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(w.pause):
		}
	}
}

// goOn downloads what is not there yet.
func (w web) goOn(ctx context.Context, f webFile, file *os.File, progress func(bytes int64)) error {
	offset, err := file.Seek(0, io.SeekEnd)
	if err != nil || offset >= f.size {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(w.stall, func() { cancel(fmt.Errorf("not a byte for %s", w.stall)) })
	defer stalled.Stop()
	response, err := w.do(ctx, http.MethodGet, f.url, offset)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK && offset > 0 { // this server only sends all of it
		progress(-offset)
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := file.Truncate(0); err != nil {
			return err
		}
		offset = 0
	}
	written := writer(func(bytes int64) {
		stalled.Reset(w.stall)
		progress(bytes)
	})
	if _, err := io.CopyN(io.MultiWriter(file, written), response.Body, f.size-offset); err != nil {
		return failed(ctx, f.url, err)
	}
	return nil
}

// writer is told how much is written.
type writer func(bytes int64)

func (w writer) Write(data []byte) (int, error) {
	w(int64(len(data)))
	return len(data), nil
}

func (w web) do(ctx context.Context, method string, from *url.URL, offset int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, from.String(), nil)
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, failed(ctx, from, err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusPartialContent {
		response.Body.Close()
		return nil, failed(ctx, from, errors.New(response.Status))
	}
	return response, nil
}

// failed names the file and the host of an error, and not all of the URL, which may have a password.
func failed(ctx context.Context, from *url.URL, err error) error {
	var inner *url.Error
	switch cause := context.Cause(ctx); {
	case cause != nil:
		err = cause
	case errors.As(err, &inner):
		err = inner.Err
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s from %s: %w", path.Base(from.Path), from.Host, err)
}
