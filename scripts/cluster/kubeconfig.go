package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"
)

// api is how to reach an API server, as an administrator.
type api struct {
	Server        string
	CA, Cert, Key []byte // PEM
	client        *http.Client
}

// api returns the cluster's: of the keys of a local cluster, or of the kubeconfig of a kind cluster.
func (c *cluster) api() (*api, error) {
	if c.clusterType() == "local" {
		l := c.local()
		s, err := l.settings()
		if err != nil {
			return nil, err
		}
		a := &api{Server: fmt.Sprintf("https://127.0.0.1:%d", s.Options.APIServer)}
		for name, to := range map[string]*[]byte{"ca.crt": &a.CA, "admin.crt": &a.Cert, "admin.key": &a.Key} {
			*to, err = os.ReadFile(filepath.Join(l.folder, "pki", name))
			if err != nil {
				return nil, err
			}
		}
		return a, a.connect()
	}
	data, err := os.ReadFile(filepath.Join(c.folder, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	return parseKubeconfig(data)
}

// parseKubeconfig reads the kubeconfig of a cluster that kind has made, with one cluster and one user, or one of the workbook,
// to which readers have added others.
func parseKubeconfig(data []byte) (*api, error) {
	var file struct {
		Clusters []struct {
			Name    string
			Cluster struct {
				Server string
				CA     string `yaml:"certificate-authority-data"`
			}
		}
		Users []struct {
			Name string
			User struct {
				Cert string `yaml:"client-certificate-data"`
				Key  string `yaml:"client-key-data"`
			}
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var a api
	encoded := map[*[]byte]string{}
	for _, c := range file.Clusters {
		if len(file.Clusters) == 1 || c.Name == "workbook" {
			a.Server, encoded[&a.CA] = c.Cluster.Server, c.Cluster.CA
		}
	}
	for _, u := range file.Users {
		if len(file.Users) == 1 || u.Name == "workbook" {
			encoded[&a.Cert], encoded[&a.Key] = u.User.Cert, u.User.Key
		}
	}
	if len(encoded) != 3 {
		return nil, errors.New("the kubeconfig has no cluster and user with the name workbook")
	}
	for to, text := range encoded {
		var err error
		*to, err = base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
	}
	return &a, a.connect()
}

// kubeconfig returns a kubeconfig with one context, named workbook, and the keys in it.
func (a *api) kubeconfig() []byte {
	text := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: workbook
clusters:
- name: workbook
  cluster:
    server: %s
    certificate-authority-data: %s
contexts:
- name: workbook
  context:
    cluster: workbook
    user: workbook
users:
- name: workbook
  user:
    client-certificate-data: %s
    client-key-data: %s
`, a.Server, text(a.CA), text(a.Cert), text(a.Key))
}

// writeKubeconfig writes the kubeconfig, unless it is right as it is: a reader may have added users and contexts to it.
func (c *cluster) writeKubeconfig(a *api) error {
	data, err := os.ReadFile(filepath.Join(c.folder, "kubeconfig"))
	if err == nil && a.isIn(data) {
		return nil
	}
	return c.write("kubeconfig", a.kubeconfig())
}

// isIn reports whether a kubeconfig leads to this API server.
func (a *api) isIn(kubeconfig []byte) bool {
	found, err := parseKubeconfig(kubeconfig)
	return err == nil && bytes.Equal(found.kubeconfig(), a.kubeconfig())
}

// connect prepares the client. It is net/http's: client-go takes minutes to compile, and this must start at once.
func (a *api) connect() error {
	pair, err := tls.X509KeyPair(a.Cert, a.Key)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.CA) {
		return errors.New("the kubeconfig has no certificate authority")
	}
	a.client = &http.Client{
		Timeout: 3 * time.Second,
		// A server that hangs must not hold the next question, which may go to its successor.
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots},
			DisableKeepAlives: true,
		},
	}
	return nil
}

// get asks the server, and decodes its answer if that is asked for.
func (a *api) get(ctx context.Context, path string, into any) error {
	return a.do(ctx, http.MethodGet, path, into)
}

// delete deletes an object, or all of a list.
func (a *api) delete(ctx context.Context, path string) error {
	return a.do(ctx, http.MethodDelete, path, nil)
}

func (a *api) do(ctx context.Context, method, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, a.Server+path, nil)
	if err != nil {
		return err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// ready reports whether the server says that it is.
func (a *api) ready(ctx context.Context) bool { return a.get(ctx, "/readyz", nil) == nil }

func (a *api) version(ctx context.Context) (string, error) {
	var version struct{ GitVersion string }
	err := a.get(ctx, "/version", &version)
	return version.GitVersion, err
}

// readyNodes returns how many nodes are ready, and how many there are.
func (a *api) readyNodes(ctx context.Context) (ready, all int, err error) {
	var list struct {
		Items []struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	err = a.get(ctx, "/api/v1/nodes", &list)
	for _, node := range list.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" {
				ready++
			}
		}
	}
	return ready, len(list.Items), err
}

// takesPods reports whether a pod can be made and finds a node. Without its namespace's ServiceAccount it is refused.
func (a *api) takesPods(ctx context.Context) bool {
	ready, all, err := a.readyNodes(ctx)
	return err == nil && all > 0 && ready == all && a.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil) == nil
}

// patience is for a kind cluster whose containers run. After a restart of Docker, some node images no longer find their own
// address, if nodes of another cluster have started before them; such a cluster would be waited for in vain.
const patience = 5 * time.Minute

// until waits until a condition holds, and shows what for.
func until(ctx context.Context, what string, holds func(context.Context) bool) error {
	progress := newWaiting()
	defer progress.done()
	for deadline := time.Now().Add(patience); !holds(ctx); {
		if time.Now().After(deadline) {
			return messagef("The kind cluster's containers run, but after %s it waits for %s: run make cluster-down, then make cluster.",
				patience, what)
		}
		progress.show(what)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}
