package connect

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/test/testkit"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- name: c
  cluster:
    server: %s
contexts:
- name: workbook
  context: {cluster: c, user: u}
- name: other
  context: {cluster: c, user: u}
users:
- name: u
  user: {}
current-context: workbook
`

func TestLoad(t *testing.T) {
	write := func(t *testing.T, name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	server := func(name string) string { return fmt.Sprintf(kubeconfig, "https://"+name) }
	// withPipe writes a kubeconfig that names the file "pipe" beside it, which is a named pipe.
	withPipe := func(t *testing.T, old, new string) string {
		file := write(t, "k", strings.Replace(server("x"), old, new, 1))
		if err := syscall.Mkfifo(filepath.Join(filepath.Dir(file), "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}

	for name, test := range map[string]struct {
		prepare  func(t *testing.T, o *Options)
		wantHost string
		wantErr  []string // words of the error
	}{
		"nothing anywhere": {
			prepare: func(*testing.T, *Options) {},
			wantErr: []string{"no cluster", "make cluster"},
		},
		"the home folder's kubeconfig is not looked at": {
			prepare: func(t *testing.T, o *Options) {
				t.Setenv("HOME", filepath.Dir(filepath.Dir(write(t, ".kube/config", server("production")))))
			},
			wantErr: []string{"no cluster"},
		},
		".cluster/kubeconfig in a folder above": {
			prepare: func(t *testing.T, o *Options) {
				root := filepath.Dir(filepath.Dir(write(t, ".cluster/kubeconfig", server("workbook"))))
				below := filepath.Join(root, "a", "b")
				if err := os.MkdirAll(below, 0o755); err != nil {
					t.Fatal(err)
				}
				t.Chdir(below)
			},
			wantHost: "https://workbook",
		},
		"$CLUSTER_DIR": {
			prepare: func(t *testing.T, o *Options) {
				t.Chdir(filepath.Dir(filepath.Dir(write(t, ".cluster/kubeconfig", server("checkout")))))
				t.Setenv("CLUSTER_DIR", filepath.Dir(write(t, "kubeconfig", server("elsewhere"))))
				if err := os.WriteFile(filepath.Join(os.Getenv("CLUSTER_DIR"), "type"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			wantHost: "https://elsewhere",
		},
		"$CLUSTER_DIR of another program": {
			prepare: func(t *testing.T, o *Options) {
				t.Setenv("CLUSTER_DIR", filepath.Dir(write(t, "kubeconfig", server("production"))))
			},
			wantErr: []string{"no cluster", "make cluster"},
		},
		"$CLUSTER_DIR without a cluster": {
			prepare: func(t *testing.T, o *Options) {
				t.Chdir(filepath.Dir(filepath.Dir(write(t, ".cluster/kubeconfig", server("checkout")))))
				t.Setenv("CLUSTER_DIR", t.TempDir())
			},
			wantErr: []string{"no cluster", "make cluster"},
		},
		"$KUBECONFIG wins over .cluster": {
			prepare: func(t *testing.T, o *Options) {
				t.Chdir(filepath.Dir(filepath.Dir(write(t, ".cluster/kubeconfig", server("workbook")))))
				t.Setenv("KUBECONFIG", write(t, "k", server("variable")))
			},
			wantHost: "https://variable",
		},
		"--kubeconfig wins over $KUBECONFIG": {
			prepare: func(t *testing.T, o *Options) {
				t.Setenv("KUBECONFIG", write(t, "k", server("variable")))
				o.Kubeconfig = write(t, "f", server("flag"))
			},
			wantHost: "https://flag",
		},
		"who writes needs more than $KUBECONFIG": {
			prepare: func(t *testing.T, o *Options) {
				t.Setenv("KUBECONFIG", write(t, "k", server("production")))
				o.Writes = true
			},
			wantErr: []string{"$KUBECONFIG", "--context"},
		},
		"who writes and names the context": {
			prepare: func(t *testing.T, o *Options) {
				t.Setenv("KUBECONFIG", write(t, "k", server("mine")))
				o.Writes, o.Context = true, "other"
			},
			wantHost: "https://mine",
		},
		"a file that is not there": {
			prepare: func(t *testing.T, o *Options) { o.Kubeconfig = "nowhere" },
			wantErr: []string{"kubeconfig nowhere", "no such file", "make cluster"},
		},
		"a list, of which one file is there": {
			prepare: func(t *testing.T, o *Options) {
				t.Setenv("KUBECONFIG", ":nowhere:"+write(t, "k", server("variable"))+":")
			},
			wantHost: "https://variable",
		},
		"a list, of which no file is there": {
			prepare: func(t *testing.T, o *Options) { t.Setenv("KUBECONFIG", "nowhere::elsewhere/k") },
			wantErr: []string{"kubeconfig $KUBECONFIG=nowhere::elsewhere/k: no such file", "unset KUBECONFIG", "make cluster"},
		},
		"a list of nothing": {
			prepare: func(t *testing.T, o *Options) { t.Setenv("KUBECONFIG", ":") },
			wantErr: []string{"kubeconfig $KUBECONFIG=:", "unset KUBECONFIG"},
		},
		"a key twice, of which clientcmd takes the last": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = write(t, "k", server("x")+"current-context: other\n")
			},
			wantHost: "https://x",
		},
		"in a pod without a token": { // with one, TestKindDeploy
			prepare: func(t *testing.T, o *Options) {
				t.Setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
				t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			},
			wantErr: []string{"in-cluster: ", "token: no such file", "automountServiceAccountToken"},
		},
		"the workbook's, of a folder that was copied or moved": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = write(t, "kubeconfig", server("x"))
				marker := filepath.Join(filepath.Dir(o.Kubeconfig), "type")
				if err := os.WriteFile(marker, []byte("local workbook /elsewhere/.cluster\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			wantErr: []string{" was copied or moved, ", "run make cluster"},
		},
		"unknown context": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig, o.Context = write(t, "k", server("x")), "prod"
			},
			wantErr: []string{`unknown context "prod"`, "other, workbook"},
		},
		"no current context": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = write(t, "k", strings.Replace(server("x"), "current-context: workbook", "", 1))
			},
			wantErr: []string{"no current context", "--context", "other, workbook"},
		},
		"an empty file": {
			prepare: func(t *testing.T, o *Options) { o.Kubeconfig = write(t, "empty", "") },
			wantErr: []string{"kubeconfig ", "/empty has no context", "make cluster", "--kubeconfig"},
		},
		"a folder": {
			prepare: func(t *testing.T, o *Options) { o.Kubeconfig = t.TempDir() },
			wantErr: []string{"kubeconfig /", "not a file", "--kubeconfig"},
		},
		"a named pipe": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = filepath.Join(t.TempDir(), "pipe")
				if err := syscall.Mkfifo(o.Kubeconfig, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			wantErr: []string{"/pipe is a folder or a pipe, not a file", "--kubeconfig"},
		},
		"a named pipe as certificate-authority": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = withPipe(t, "server: https://x", "server: https://x\n    certificate-authority: pipe")
			},
			wantErr: []string{"/k: the certificate-authority of context \"workbook\", ",
				"/pipe, is a folder or a pipe, not a file", "--context"},
		},
		"a named pipe as client-certificate": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = withPipe(t, "user: {}", "user: {client-certificate: pipe, client-key: key}")
			},
			wantErr: []string{"/k: the client-certificate of context \"workbook\", ",
				"/pipe, is a folder or a pipe, not a file", "--context"},
		},
		"a named pipe as client-key": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = withPipe(t, "user: {}", "user: {client-certificate: certificate, client-key: pipe}")
			},
			wantErr: []string{"/k: the client-key of context \"workbook\", ", "/pipe, is a folder or a pipe, not a file", "--context"},
		},
		"a named pipe as tokenFile": {
			prepare: func(t *testing.T, o *Options) { o.Kubeconfig = withPipe(t, "user: {}", "user: {tokenFile: pipe}") },
			wantErr: []string{"/k: the tokenFile of context \"workbook\", ", "/pipe, is a folder or a pipe, not a file", "--context"},
		},
		"a context without a cluster": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = write(t, "k", strings.Replace(server("x"), "{cluster: c, user: u}", "{user: u}", 1))
			},
			wantErr: []string{"/k: ", `context "workbook"`, "no server", "--context", "other, workbook"},
		},
		"a context with an unknown cluster": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = write(t, "k", strings.Replace(server("x"), "- name: c", "- name: d", 1))
			},
			wantErr: []string{`context "workbook" has the cluster "c"`, "no server"},
		},
		"a cluster without a server": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = write(t, "k", strings.Replace(server("x"), "server: https://x", "insecure-skip-tls-verify: true", 1))
			},
			wantErr: []string{`context "workbook" has the cluster "c"`, "no server"},
		},
		"YAML that does not parse": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = write(t, "broken", strings.Replace(server("x"), "    server", "\tserver", 1))
			},
			wantErr: []string{"malformed kubeconfig", "broken", "line 6"},
		},
		"a list where a text should be": {
			prepare: func(t *testing.T, o *Options) {
				o.Kubeconfig = write(t, "broken", strings.Replace(server("x"), "- name: u", "- name: [u]", 1))
			},
			wantErr: []string{"malformed kubeconfig", "broken", "line 13"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("KUBECONFIG", "")
			t.Setenv("CLUSTER_DIR", "")
			var o Options
			test.prepare(t, &o)
			cluster, err := o.Load()
			if test.wantErr != nil {
				if err == nil {
					t.Fatalf("Load found %s, want an error with %q", cluster.Config.Host, test.wantErr)
				}
				checkLine(t, err.Error(), test.wantErr)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if cluster.Config.Host != test.wantHost {
				t.Errorf("Load found %s, want %s", cluster.Config.Host, test.wantHost)
			}
		})
	}
}

// TestLoadWithoutPermission runs itself as a user without privileges if need be: root may read everything.
func TestLoadWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		const self = "/proc/self/exe" // its real path leads through folders that are this user's alone
		if _, err := os.Stat(self); err != nil {
			t.Skip("root may read every file, and without /proc this cannot run itself as another user")
		}
		cmd := exec.Command(self, "-test.run=^TestLoadWithoutPermission$", "-test.v")
		cmd.Env = append(os.Environ(), "TMPDIR=/tmp")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if output, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(output), "--- PASS: TestLoadWithoutPermission") {
			t.Fatalf("as another user: %v\n%s", err, output)
		}
		return
	}
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, nil, 0o000); err != nil {
		t.Fatal(err)
	}
	_, err := (&Options{Kubeconfig: file}).Load()
	if err == nil {
		t.Fatal("no error")
	}
	checkLine(t, err.Error(), []string{"kubeconfig " + file + ": permission denied", "chmod", "--kubeconfig"})
}

// TestIsConnectionLost has client-go make the Status, out of the errors that reading an answer has ended with.
func TestIsConnectionLost(t *testing.T) {
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "get", "ClientWatchDecoding")
	for message, want := range map[string]bool{
		"http2: client connection lost":                                               true,
		"stream error: stream ID 5; INTERNAL_ERROR; received from peer":               true,
		"read tcp 127.0.0.1:1->127.0.0.1:2: read: no route to host":                   true,
		"local error: tls: bad record MAC":                                            true,
		"invalid character 'b' looking for beginning of object key string":            false,
		"got invalid watch event type: http2: ":                                       false,
		"unable to decode watch event: no kind \"http2: \" is registered":             false,
		"object to decode was longer than maximum allowed size":                       false,
		"proto: wrong wireType = 7 for field Type, and http2: client connection lost": false,
	} {
		err := apierrors.FromObject(reporter.AsObject(
			fmt.Errorf("unable to decode an event from the watch stream: %v", errors.New(message))))
		if got := IsConnectionLost(err); got != want {
			t.Errorf("%s: %t, want %t", message, got, want)
		}
		if lost := "the connection to the server is lost: " + message; want && Explain(err) != lost {
			t.Errorf("Explain: %q, want %q", Explain(err), lost)
		}
	}
}

// TestExplainACut has a cluster that runs: nothing must send the reader to start one.
func TestExplainACut(t *testing.T) {
	for unreachable, want := range map[bool]string{
		false: "example.com refuses connections, because of --cut-after",
		true:  "no route to example.com, because of --cut-after",
	} {
		cut := netfault.Cutter{Unreachable: unreachable}
		cut.Cut()
		listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer listener.Close()
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return cut.Dial(ctx, network, listener.Addr().String())
		}
		_, err := (&Cluster{Config: &rest.Config{Host: "https://example.com", Dial: dial}}).Greet(t.Context())
		if got := Explain(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if utilnet.IsConnectionRefused(err) == unreachable {
			t.Errorf("client-go takes %v for the wrong error", err)
		}
	}
}

// TestNoAnswer has a server that takes the connection and is silent.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer server.Close()
		dial := func(context.Context, string, string) (net.Conn, error) { return client, nil }
		start := time.Now()
		_, err := (&Cluster{Config: &rest.Config{Host: "http://example.com", Dial: dial}}).Greet(t.Context())
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("it gives up after %s, want 30s", took)
		}
		checkLine(t, Explain(err), []string{"example.com does not answer", "make cluster-status"})
	})
}

func TestExplain(t *testing.T) {
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	tlsServer := func(t *testing.T, handler http.Handler, certificate *tls.Certificate) *httptest.Server {
		server := httptest.NewUnstartedServer(handler)
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would complain about clients that hang up
		if certificate != nil {
			server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		}
		server.StartTLS()
		t.Cleanup(server.Close)
		return server
	}
	plainServer := func(t *testing.T, handler http.Handler) *rest.Config {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return &rest.Config{Host: server.URL}
	}
	greet := func(ctx context.Context, config *rest.Config) error {
		_, err := (&Cluster{Config: config}).Greet(ctx)
		return err
	}
	listPods := func(ctx context.Context, config *rest.Config) error {
		_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("nginx").List(ctx, metav1.ListOptions{})
		return err
	}

	for name, test := range map[string]struct {
		config func(t *testing.T) *rest.Config
		do     func(context.Context, *rest.Config) error
		want   []string
	}{
		"connection refused": {
			config: func(t *testing.T) *rest.Config {
				listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
				defer listener.Close()
				return &rest.Config{Host: "https://" + listener.Addr().String()}
			},
			do:   greet,
			want: []string{"127.0.0.1:", "refuses connections", "make cluster"},
		},
		"connection refused by a proxy": {
			config: func(t *testing.T) *rest.Config {
				listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
				defer listener.Close()
				proxy := &url.URL{Scheme: "http", Host: listener.Addr().String()}
				return &rest.Config{Host: "https://192.0.2.1", Proxy: http.ProxyURL(proxy)}
			},
			do:   greet,
			want: []string{"the proxy on the way to 192.0.2.1", "connection refused", "proxy-url"},
		},
		"certificate expired": {
			config: func(t *testing.T) *rest.Config {
				certificate, authority := selfSigned(t, time.Now().Add(-time.Hour))
				server := tlsServer(t, http.NotFoundHandler(), certificate)
				return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
			},
			do:   greet,
			want: []string{"127.0.0.1:", "certificate", "expired", "clock"},
		},
		"certificate for another name": {
			config: func(t *testing.T) *rest.Config {
				certificate, authority := selfSigned(t, time.Now().Add(time.Hour))
				server := tlsServer(t, http.NotFoundHandler(), certificate)
				return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority, ServerName: "elsewhere"}}
			},
			do:   greet,
			want: []string{"other names", "elsewhere"},
		},
		"unknown authority": {
			config: func(t *testing.T) *rest.Config {
				return &rest.Config{Host: tlsServer(t, http.NotFoundHandler(), nil).URL}
			},
			do:   greet,
			want: []string{"authority that the kubeconfig does not know", "make cluster"},
		},
		"no such host": {
			config: func(t *testing.T) *rest.Config { return &rest.Config{Host: "https://workbook.invalid"} },
			do:     greet,
			want:   []string{"no address for workbook.invalid", "kubeconfig"},
		},
		"unauthorized": {
			config: func(t *testing.T) *rest.Config {
				return plainServer(t, answer(401, `{"kind":"Status","apiVersion":"v1","status":"Failure",`+
					`"message":"Unauthorized","reason":"Unauthorized","code":401}`))
			},
			do:   listPods,
			want: []string{"unauthorized", "credentials"},
		},
		"forbidden": {
			config: func(t *testing.T) *rest.Config {
				return plainServer(t, answer(403, `{"kind":"Status","apiVersion":"v1","status":"Failure",`+
					`"message":"pods is forbidden: User \"learner\" `+
					`cannot list resource \"pods\" in API group \"\" in the namespace \"nginx\"",`+
					`"reason":"Forbidden","code":403}`))
			},
			do:   listPods,
			want: []string{`"learner" cannot list resource "pods"`, `namespace "nginx"`, "Role"},
		},
		"CRD not installed, seen by discovery": {
			config: func(t *testing.T) *rest.Config {
				return plainServer(t, answer(200, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`))
			},
			do: func(ctx context.Context, config *rest.Config) error {
				mapper := restmapper.NewDeferredDiscoveryRESTMapper(
					memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(config)))
				_, err := mapper.KindFor(schema.GroupVersionResource{Group: "coolops.cn", Resource: "databasemanagers"})
				return err
			},
			want: []string{`no resource "databasemanagers.coolops.cn"`, "CRD"},
		},
		"CRD not installed, seen by a list": {
			config: func(t *testing.T) *rest.Config { return plainServer(t, http.NotFoundHandler()) },
			do: func(ctx context.Context, config *rest.Config) error {
				resource := schema.GroupVersionResource{Group: "coolops.cn", Version: "v1alpha1", Resource: "databasemanagers"}
				_, err := dynamic.NewForConfigOrDie(config).Resource(resource).List(ctx, metav1.ListOptions{})
				return err
			},
			want: []string{"does not know this resource", "CRD"},
		},
		"anything else keeps its words": {
			config: func(t *testing.T) *rest.Config { return nil },
			do: func(context.Context, *rest.Config) error {
				return fmt.Errorf("a\nstrange error")
			},
			want: []string{"a strange error"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := test.config(t)
			err := test.do(t.Context(), config)
			if err == nil {
				t.Fatal("no error")
			}
			checkLine(t, Explain(err), test.want)
		})
	}
}

// An admission plugin forbids, too: no Role helps against a quota.
func TestExplainGivesNoAdviceThatDoesNotFollow(t *testing.T) {
	const quota = `pods "a" is forbidden: exceeded quota: small`
	err := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: quota}}
	if got := Explain(err); got != quota {
		t.Errorf("Explain returns %q, want %q", got, quota)
	}
}

func checkLine(t *testing.T, line string, words []string) {
	t.Helper()
	if strings.Contains(line, "\n") {
		t.Errorf("more than one line: %q", line)
	}
	for _, word := range words {
		if !strings.Contains(line, word) {
			t.Errorf("%q does not say %q", line, word)
		}
	}
}

// selfSigned returns a certificate for 127.0.0.1 that is its own authority, and the authority in PEM.
func selfSigned(t *testing.T, expires time.Time) (*tls.Certificate, []byte) {
	key := testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    expires.Add(-24 * time.Hour),
		NotAfter:     expires,
		IsCA:         true,
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},

		BasicConstraintsValid: true,
	}
	der := testkit.Must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
