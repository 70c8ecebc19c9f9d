package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/client-go-workbook/scripts/cluster/marker"
)

// TestMain has a proxy for the whole process: net/http reads HTTPS_PROXY once, and never takes a proxy to 127.0.0.1.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(tunnel))
	os.Setenv("HTTPS_PROXY", "http://reader:secret@"+proxy.Listener.Addr().String())
	os.Setenv("NO_PROXY", "")
	code := m.Run()
	proxy.Close()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// tunnel leads to the server whose port has the host as its name: proxy-12345.example.com.
func tunnel(w http.ResponseWriter, r *http.Request) {
	port := regexp.MustCompile(`^proxy-(\d+)\.example\.com:443$`).FindStringSubmatch(r.Host)
	password := base64.StdEncoding.EncodeToString([]byte("reader:secret"))
	if port == nil || r.Header.Get("Proxy-Authorization") != "Basic "+password {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	target, err := net.Dial("tcp", "127.0.0.1:"+port[1])
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer target.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		io.Copy(target, buffered)
		target.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(client, target)
}

// site is a mirror of all hosts.
type site struct {
	*httptest.Server
	files map[string]string // by path
	serve serve
	lock  sync.Mutex
	asked []string // METHOD path range
}

// serve handles a request for kubectl, or reports that it is handled as usual. try counts the GETs, from 1.
type serve func(w http.ResponseWriter, r *http.Request, try int) (done bool)

var (
	base    = "/v1.37.1/bin/linux/" + runtime.GOARCH + "/"
	kubectl = content("kubectl")
)

// content is another one at each place.
func content(name string) string {
	text := []byte(name)
	for i := range 20_000 {
		text = strconv.AppendInt(text, int64(i), 10)
	}
	return string(text)
}

func newSite(t *testing.T, serve serve) *site {
	s := &site{serve: serve, files: map[string]string{}}
	for _, name := range []string{"kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		s.files[base+name] = content(name)
		s.files[base+name+".sha256"] = fmt.Sprintf("%x", sha256.Sum256([]byte(s.files[base+name])))
	}
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	entries := tar.NewWriter(zipped)
	for _, name := range []string{"README-etcd", "etcd", "etcdctl"} {
		err := entries.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "etcd-v3.7.0-linux-amd64/" + name, Size: int64(len(name))})
		if _, writeErr := io.WriteString(entries, name); err != nil || writeErr != nil {
			t.Fatal(err, writeErr)
		}
	}
	if err := errors.Join(entries.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	const release, name = "/etcd-io/etcd/releases/download/v3.7.0/", "etcd-v3.7.0-linux-" + runtime.GOARCH + ".tar.gz"
	s.files[release+name] = archive.String()
	s.files[release+"SHA256SUMS"] = fmt.Sprintf("%064d  other.tar.gz\n%x  %s\n", 0, sha256.Sum256(archive.Bytes()), name)
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	try := len(s.ranges())
	s.lock.Unlock()
	file := strings.TrimPrefix(r.URL.Path, "/mirror")
	content, known := s.files[file]
	switch {
	case r.ProtoMajor > 1:
		w.WriteHeader(http.StatusHTTPVersionNotSupported)
	case strings.HasPrefix(path.Base(file), "kubectl") && s.serve != nil && s.serve(w, r, try):
	case known:
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	default:
		http.NotFound(w, r)
	}
}

// ranges are those of the GETs of kubectl: empty for all of it.
func (s *site) ranges() (ranges []string) {
	for _, line := range s.asked {
		if after, ok := strings.CutPrefix(line, "GET /mirror"+base+"kubectl"); ok && !strings.HasPrefix(after, ".") {
			ranges = append(ranges, strings.TrimSpace(after))
		}
	}
	return ranges
}

// noGo is why nothing can be built in a test; where there is little disk, that is found first.
const noGo = `^exec: "go": executable file not found|^Building the local cluster takes 8 GB`

// programsFrom are in an empty cache, and come from the site. There is no go that could build them.
func programsFrom(t *testing.T, s *site) programs {
	t.Setenv("WORKBOOK_DOWNLOAD", strings.Replace(s.URL, "//", "//reader:secret@", 1)+"/mirror/")
	t.Setenv("PATH", t.TempDir())
	p := newPrograms("../..", t.TempDir())
	p.system = "linux/" + runtime.GOARCH
	p.web.first, p.web.stall, p.web.pause = time.Minute, time.Minute, time.Millisecond
	p.web.client.Transport.(*http.Transport).TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	return p
}

// said returns what is said during a call. A password is never.
func said(t *testing.T, call func() error) (string, error) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = file
	err = call()
	os.Stderr = stderr
	text, _ := os.ReadFile(file.Name())
	file.Close()
	if all := fmt.Sprint(string(text), err); strings.Contains(all, "secret") {
		t.Errorf("this has a password: %s", all)
	}
	return string(text), err
}

// TestDownload downloads kubectl alone, as for a kind cluster.
func TestDownload(t *testing.T) {
	part := len(kubectl) * 3 / 10
	send := func(w http.ResponseWriter, from, to int) {
		w.Header().Set("Content-Length", fmt.Sprint(len(kubectl)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		io.WriteString(w, kubectl[from:to])
		w.(http.Flusher).Flush()
	}
	isFile := func(r *http.Request, method string) bool {
		return path.Base(r.URL.Path) == "kubectl" && r.Method == method
	}
	isSum := func(r *http.Request) bool { return path.Base(r.URL.Path) == "kubectl.sha256" }
	second := fmt.Sprintf("bytes=%d-", part)
	failed := false
	for name, test := range map[string]struct {
		serve  serve
		change func(t *testing.T, s *site, p *programs)
		not    string   // why it is not downloaded, but built
		fails  string   // why it is not built either
		ranges []string // what is asked for of the file
		left   int      // bytes of the partial file
	}{
		"complete": {ranges: []string{""}},
		"wrong checksum": {serve: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			return isSum(r) && must(fmt.Fprintf(w, "%064d", 0))
		}, not: "kubectl has a wrong checksum, and is removed", ranges: []string{""}},
		"no checksum": {serve: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			return isSum(r) && must(fmt.Fprintf(w, "%064d  kubelet\n", 0))
		}, not: "kubectl.sha256 has no checksum of kubectl"},
		"checksum that is a page": {serve: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			return isSum(r) && must(fmt.Fprintln(w, "<html>"))
		}, not: "kubectl.sha256 has no checksum of kubectl"},
		"no answer": {serve: func(_ http.ResponseWriter, r *http.Request, _ int) bool {
			if isSum(r) {
				<-r.Context().Done()
			}
			return false
		}, change: func(_ *testing.T, _ *site, p *programs) { p.web.first = time.Second },
			not: "kubectl.sha256 from HOST: no answer within 1s"},
		"checksum that is missing": {change: func(_ *testing.T, s *site, _ *programs) {
			delete(s.files, base+"kubectl.sha256")
		}, not: "kubectl.sha256 from HOST: 404 Not Found"},
		"file that is missing": {change: func(_ *testing.T, s *site, _ *programs) {
			delete(s.files, base+"kubectl")
		}, not: "kubectl from HOST: 404 Not Found"},
		"stalls, then goes on": {serve: func(w http.ResponseWriter, r *http.Request, try int) bool {
			if try > 1 || !isFile(r, http.MethodGet) {
				return false
			}
			send(w, 0, part)
			<-r.Context().Done()
			return true
		}, change: func(_ *testing.T, _ *site, p *programs) { p.web.stall = time.Second }, ranges: []string{"", second}},
		"breaks off, and knows no range": {serve: func(w http.ResponseWriter, r *http.Request, try int) bool {
			if !isFile(r, http.MethodGet) {
				return false
			}
			if try == 1 {
				send(w, 0, part)
				panic(http.ErrAbortHandler)
			}
			send(w, 0, len(kubectl))
			return true
		}, ranges: []string{"", second}},
		"breaks off again and again": {serve: func(w http.ResponseWriter, r *http.Request, try int) bool {
			if !isFile(r, http.MethodGet) {
				return false
			}
			send(w, (try-1)*part, min(try*part, len(kubectl)))
			if try*part < len(kubectl) {
				panic(http.ErrAbortHandler)
			}
			return true
		}, ranges: []string{"", second, fmt.Sprintf("bytes=%d-", 2*part), fmt.Sprintf("bytes=%d-", 3*part)}},
		"breaks off at the same place": {serve: func(w http.ResponseWriter, r *http.Request, try int) bool {
			if !isFile(r, http.MethodGet) {
				return false
			}
			send(w, min(try-1, 1)*part, part)
			panic(http.ErrAbortHandler)
		}, not: "kubectl from HOST: unexpected EOF", ranges: []string{"", second, second, second, second, second}, left: part},
		"size that is not told": {serve: func(_ http.ResponseWriter, r *http.Request, _ int) bool {
			return isFile(r, http.MethodHead)
		}, not: "kubectl from HOST: its size is not known"},
		"fails once": {serve: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if !isFile(r, http.MethodHead) || failed {
				return false
			}
			failed = true
			w.WriteHeader(http.StatusBadGateway)
			return true
		}, ranges: []string{""}},
		"redirected": {serve: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if r.URL.RawQuery != "" {
				return false
			}
			http.Redirect(w, r, r.URL.Path+"?signature=1", http.StatusFound)
			return true
		}, ranges: []string{"", ""}},
		"redirected to http": {serve: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, "http://"+r.Host+r.URL.Path, http.StatusFound)
			return true
		}, not: "kubectl.sha256 from HOST: it is redirected to http, or too often"},
		"authority that is not known": {change: func(_ *testing.T, _ *site, p *programs) {
			p.web.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{}
		}, not: "kubectl.sha256 from HOST: tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		"proxy": {change: func(t *testing.T, s *site, _ *programs) {
			t.Setenv("WORKBOOK_DOWNLOAD", fmt.Sprintf("https://proxy-%d.example.com/mirror", s.Listener.Addr().(*net.TCPAddr).Port))
		}, ranges: []string{""}},
		"proxy that refuses": {change: func(t *testing.T, _ *site, _ *programs) {
			t.Setenv("WORKBOOK_DOWNLOAD", "https://reader:secret@other.example.com")
		}, not: "kubectl.sha256 from other.example.com: Forbidden"},
		"full disk": {serve: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if isFile(r, http.MethodHead) {
				w.Header().Set("Content-Length", fmt.Sprint(1<<60))
			}
			return isFile(r, http.MethodHead)
		}, fails: "^Downloading Kubernetes takes 1099511627776 MB of disk, and .*"},
		"partial file that is too long": {change: func(t *testing.T, _ *site, p *programs) {
			file := filepath.Join(p.downloadFolder(), ".partial-kubectl")
			if err := errors.Join(os.MkdirAll(p.downloadFolder(), 0o700), os.WriteFile(file, []byte(kubectl+"more"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}, ranges: []string{""}},
		"another program writes it": {change: func(t *testing.T, _ *site, p *programs) {
			err := os.MkdirAll(p.downloadFolder(), 0o700)
			file, createErr := os.Create(filepath.Join(p.downloadFolder(), ".partial-kubectl"))
			t.Cleanup(func() { file.Close() })
			if err := errors.Join(err, createErr, syscall.Flock(int(file.Fd()), syscall.LOCK_EX)); err != nil {
				t.Fatal(err)
			}
		}, fails: "Another program writes .*: wait for it to end", left: -1},
		"file that cannot be written": {change: func(t *testing.T, _ *site, p *programs) {
			if err := os.MkdirAll(filepath.Join(p.downloadFolder(), ".partial-kubectl"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, fails: ".partial-kubectl: is a directory", left: -1},
		"off": {change: func(t *testing.T, s *site, _ *programs) {
			t.Setenv("WORKBOOK_DOWNLOAD", "off")
			s.files = nil
		}, fails: noGo},
		"macOS": {change: func(_ *testing.T, s *site, p *programs) {
			p.system = "darwin/arm64"
			for _, name := range []string{"kubectl", "kubectl.sha256"} {
				s.files["/v1.37.1/bin/darwin/arm64/"+name] = s.files[base+name]
			}
		}},
		"http":           {change: value("http://reader:secret@example.com"), fails: `^WORKBOOK_DOWNLOAD is not an https URL: .*$`},
		"no host":        {change: value("https://"), fails: `^WORKBOOK_DOWNLOAD is not an https URL: .*$`},
		"neither nor":    {change: value("on"), fails: `^WORKBOOK_DOWNLOAD is not an https URL: .*$`},
		"no URL, secret": {change: value("https://reader:secret%zz@example.com"), fails: `^WORKBOOK_DOWNLOAD is not an https URL: .*$`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, test.serve)
			p := programsFrom(t, s)
			if test.change != nil {
				test.change(t, s, &p)
			}
			text, err := said(t, func() error { return p.build(t.Context(), kubectlPackage) })
			text = strings.ReplaceAll(text, s.Listener.Addr().String(), "HOST")
			wrong := func(what string) { t.Errorf("%s: it said %q, error %v, and asked for %q", what, text, err, s.asked) }
			got, _ := os.ReadFile(filepath.Join(p.downloadFolder(), "kubectl"))
			switch {
			case test.not != "":
				if want := "Kubernetes v1.37.1 is built, not downloaded: " + test.not; !strings.Contains(text, want) || err == nil {
					wrong("want " + want)
				}
			case test.fails != "":
				if err == nil || !regexp.MustCompile(test.fails).MatchString(err.Error()) || strings.Contains(text, "not downloaded") {
					wrong("want " + test.fails)
				}
			case err != nil || string(got) != kubectl || !has(p.downloadFolder(), "kubectl"):
				wrong(fmt.Sprintf("%d bytes are in place", len(got)))
			case !regexp.MustCompile(`^Downloading Kubernetes v1.37.1 \(0 MB\) into .*, once\.\nDownloaded in 0:0\d\.\n$`).MatchString(text):
				wrong("words")
			}
			if failed := test.not + test.fails; failed != "" && got != nil {
				wrong("in place")
			}
			if ranges := s.ranges(); !slices.Equal(ranges, test.ranges) {
				wrong(fmt.Sprintf("ranges %q", test.ranges))
			}
			if isNotAsked := strings.Contains(test.fails, "WORKBOOK") || test.fails == noGo; isNotAsked && len(s.asked) > 0 {
				wrong("want no requests")
			}
			partial, _ := filepath.Glob(filepath.Join(p.downloadFolder(), partialPrefix+"*"))
			if info, err := os.Stat(filepath.Join(p.downloadFolder(), partialPrefix+"kubectl")); test.left > 0 {
				if err != nil || info.Size() != int64(test.left) {
					wrong(fmt.Sprintf("want %d bytes kept", test.left))
				}
			} else if len(partial) > 0 && test.left == 0 {
				wrong("partial file left")
			}
		})
	}
}

func must(_ int, err error) bool { return err == nil }

func value(value string) func(*testing.T, *site, *programs) {
	return func(t *testing.T, _ *site, _ *programs) { t.Setenv("WORKBOOK_DOWNLOAD", value) }
}

// TestDownloadGoesOn cancels it in the middle, and starts it again.
func TestDownloadGoesOn(t *testing.T) {
	part := len(kubectl) * 3 / 10
	ctx, cancel := context.WithCancel(t.Context())
	var p programs
	partial := func() int64 {
		info, err := os.Stat(filepath.Join(p.downloadFolder(), partialPrefix+"kubectl"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	s := newSite(t, func(w http.ResponseWriter, r *http.Request, try int) bool {
		if r.Method != http.MethodGet || path.Base(r.URL.Path) != "kubectl" || try > 1 {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(kubectl)))
		io.WriteString(w, kubectl[:part])
		w.(http.Flusher).Flush()
		for partial() < int64(part) && r.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
		<-r.Context().Done()
		return true
	})
	p = programsFrom(t, s)
	text, err := said(t, func() error { return p.build(ctx, kubectlPackage) })
	if !errors.Is(err, context.Canceled) || strings.Count(text, "\n") != 1 || partial() != int64(part) || p.ready(kubectlPackage) {
		t.Errorf("interrupted: %v, %q, %d bytes", err, text, partial())
	}
	if _, err := said(t, func() error { return p.build(t.Context(), kubectlPackage) }); err != nil || !p.downloaded(kubectlPackage) {
		t.Errorf("again: %v", err)
	}
	if want := []string{"", fmt.Sprintf("bytes=%d-", part)}; !slices.Equal(s.ranges(), want) {
		t.Errorf("asked for %q, want %q", s.ranges(), want)
	}
}

// TestOneDownloads starts two at once. The file is sent when one waits for the other.
func TestOneDownloads(t *testing.T) {
	s := newSite(t, func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		for text := []byte{}; !bytes.Contains(text, []byte("Waiting for another download")) && r.Context().Err() == nil; {
			text, _ = os.ReadFile(os.Stderr.Name())
			time.Sleep(time.Millisecond)
		}
		return false
	})
	p := programsFrom(t, s)
	text, err := said(t, func() error {
		other := make(chan error)
		go func() { other <- p.build(t.Context(), kubectlPackage) }()
		return errors.Join(p.build(t.Context(), kubectlPackage), <-other)
	})
	if err != nil || strings.Count(text, "Downloaded") != 1 || len(s.asked) != 3 {
		t.Errorf("got %v, %q, asked for %q", err, text, s.asked)
	}
}

// TestDownloadAll downloads what the local cluster needs. Then kwok would be built.
func TestDownloadAll(t *testing.T) {
	s := newSite(t, nil)
	p := programsFrom(t, s)
	text, err := said(t, func() error { return p.build(t.Context()) })
	isKwok := strings.HasSuffix(text, "\nBuilding kwok v0.8.0, which is published without checksums.\n")
	if err == nil || !isKwok || !regexp.MustCompile(noGo).MatchString(err.Error()) {
		t.Errorf("it said %q, error %v", text, err)
	}
	for _, name := range []string{"kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		want := s.files[base+name]
		if name == "etcd" {
			want = "etcd"
		}
		if got, _ := os.ReadFile(filepath.Join(p.downloadFolder(), name)); string(got) != want || !has(p.downloadFolder(), name) {
			t.Errorf("%s has %d bytes", name, len(got))
		}
	}
	for name := range s.files {
		if !slices.Contains(s.asked, "GET /mirror"+name) {
			t.Errorf("%s is not asked for, but %q", name, s.asked)
		}
	}
	asked := len(s.asked)
	if _, err := said(t, func() error { return p.build(t.Context()) }); err == nil || len(s.asked) != asked {
		t.Errorf("the second time: %v, asked for %q", err, s.asked[asked:])
	}

	// What is built comes first, and WORKBOOK_DOWNLOAD=off leaves out what is downloaded.
	expect := func(what, want string) {
		t.Helper()
		if got := p.folder(); got != want {
			t.Errorf("%s: the programs are taken from %s, want %s", what, got, want)
		}
	}
	expect("without kwok", p.buildFolder())
	write := func(folder string, names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(p.downloadFolder(), "kwokctl", "kwok-controller")
	expect("all are downloaded", p.downloadFolder())
	c := &cluster{root: p.root, cache: p.cache, folder: t.TempDir()}
	for _, folder := range []string{p.downloadFolder(), p.buildFolder()} { // as finish leaves it
		mark := os.WriteFile(filepath.Join(c.folder, marker.File), []byte("local workbook "+c.folder+"\n"), 0o600)
		err := errors.Join(mark, os.MkdirAll(filepath.Dir(c.kubectl()), 0o700), os.RemoveAll(c.kubectl()),
			os.Symlink(filepath.Join(folder, "kubectl"), c.kubectl()))
		want := map[bool]string{true: " (downloaded)", false: " (built)"}[folder == p.downloadFolder()]
		if err != nil || c.source() != want {
			t.Errorf("%v, the status says %q, want %q", err, c.source(), want)
		}
	}
	write(p.buildFolder(), "kubectl")
	expect("one is built", p.downloadFolder())
	write(p.buildFolder(), names...)
	expect("all are built", p.buildFolder())
	if err := os.RemoveAll(p.buildFolder()); err != nil {
		t.Fatal(err)
	}
	expect("none is built", p.downloadFolder())
	t.Setenv("WORKBOOK_DOWNLOAD", "off")
	expect("off", p.buildFolder())
}

// TestNoServers wants the local cluster's programs where its servers are not published.
func TestNoServers(t *testing.T) {
	s := newSite(t, nil)
	p := programsFrom(t, s)
	p.system = "darwin/arm64"
	text, err := said(t, func() error { return p.build(t.Context()) })
	if !strings.Contains(text, "for darwin/arm64, Kubernetes' servers are not published") || len(s.asked) > 0 ||
		err == nil || !regexp.MustCompile(noGo).MatchString(err.Error()) {
		t.Errorf("it said %q, error %v, and asked for %q", text, err, s.asked)
	}
}

// TestOwnHosts compares where the programs are without a mirror.
func TestOwnHosts(t *testing.T) {
	p := newPrograms("../..", t.TempDir())
	p.system = "linux/arm64"
	got := map[string]bool{}
	for _, f := range p.published(nil, packages) {
		got[f.url.String()], got[f.sums.String()] = true, true
	}
	const kubernetes, etcd = "https://dl.k8s.io/v1.37.1/bin/linux/arm64/", "https://github.com/etcd-io/etcd/releases/download/v3.7.0/"
	want := map[string]bool{etcd + "etcd-v3.7.0-linux-arm64.tar.gz": true, etcd + "SHA256SUMS": true}
	for _, name := range []string{"kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		want[kubernetes+name], want[kubernetes+name+".sha256"] = true, true
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
