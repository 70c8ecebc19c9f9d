package connect

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
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
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer listener.Close()
				return &rest.Config{Host: "https://" + listener.Addr().String()}
			},
			do:   greet,
			want: []string{"127.0.0.1:", "refuses connections", "make cluster"},
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
		"no answer": {
			config: func(t *testing.T) *rest.Config {
				return plainServer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
			},
			do:   greet,
			want: []string{"does not answer", "make cluster-status"},
		},
		"unauthorized": {
			config: func(t *testing.T) *rest.Config {
				return plainServer(t, answer(401, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`))
			},
			do:   listPods,
			want: []string{"unauthorized", "credentials"},
		},
		"forbidden": {
			config: func(t *testing.T) *rest.Config {
				return plainServer(t, answer(403, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods is forbidden: User \"learner\" cannot list resource \"pods\" in API group \"\" in the namespace \"nginx\"","reason":"Forbidden","code":403}`))
			},
			do:   listPods,
			want: []string{`"learner" cannot list resource "pods"`, `namespace "nginx"`, "Role"},
		},
		"CRD not installed, seen by discovery": {
			config: func(t *testing.T) *rest.Config {
				return plainServer(t, answer(200, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`))
			},
			do: func(ctx context.Context, config *rest.Config) error {
				mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(config)))
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
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			err := test.do(ctx, config)
			if err == nil {
				t.Fatal("no error")
			}
			checkLine(t, Explain(err), test.want)
		})
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
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    expires.Add(-24 * time.Hour),
		NotAfter:     expires,
		IsCA:         true,
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},

		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
