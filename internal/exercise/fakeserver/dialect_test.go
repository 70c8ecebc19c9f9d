package fakeserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

var update = flag.Bool("update", false, "record the answers of a real API server anew")

const recording = "testdata/dialect.txt"

var versionParameter = regexp.MustCompile(`resourceVersion=[0-9]+`)

// TestDialect sends the same requests to this server and to a real one. The real one's answers are kept in a file, so
// that the comparison needs no cluster:
//
//	WORKBOOK_TESTS=all go test ./internal/exercise/fakeserver -run TestDialect -update
func TestDialect(t *testing.T) {
	t.Run("real", func(t *testing.T) {
		cluster := testcluster.Start(t)
		got := converse(t, cluster.Config(), func() {
			cluster.StopAPIServer(t) // it has a memory of its own
			cluster.Compact(t)
			cluster.StartAPIServer(t)
		})
		if *update {
			if err := os.WriteFile(recording, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		compare(t, got)
	})
	t.Run("scripted", func(t *testing.T) {
		s := Start(t)
		compare(t, converse(t, s.Config(), s.Compact))
	})
}

func compare(t *testing.T, got string) {
	want := testkit.Must(os.ReadFile(recording))(t)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("answers (-recorded +got):\n%s", diff)
	}
}

// converse makes the requests, and returns what matters of the answers.
func converse(t *testing.T, config *rest.Config, compact func()) string {
	c := &conversation{t: t, host: config.Host, client: testkit.Must(rest.HTTPClientFor(config))(t)}
	const secrets = "/api/v1/namespaces/default/secrets"
	secret := func(name, more string) string {
		return fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":%q%s}}`, name, more)
	}

	fmt.Fprintln(&c.out, "# create, get, update, delete")
	a := c.do("POST", secrets, secret("a", `,"labels":{"color":"red"}`))
	c.do("POST", secrets, secret("a", ""))
	c.do("POST", secrets, secret("b", `,"namespace":"other"`))
	c.do("POST", secrets, secret("", ""))
	c.do("POST", secrets, secret("b", `,"resourceVersion":"1"`))
	c.do("POST", secrets, "nonsense")
	c.do("GET", secrets+"/a", "")
	c.do("GET", secrets+"/nobody", "")
	c.do("PUT", secrets+"/a", secret("a", `,"labels":{"color":"red"},"resourceVersion":"`+a+`"`)) // as it is
	c.do("PUT", secrets+"/a", secret("a", `,"labels":{"color":"blue"},"resourceVersion":"`+a+`"`))
	c.do("PUT", secrets+"/a", secret("a", `,"labels":{"color":"red"},"resourceVersion":"`+a+`"`))
	c.do("PUT", secrets+"/a", secret("a", `,"labels":{"color":"green"}`))
	c.do("PUT", secrets+"/a", secret("a", `,"uid":"another"`))
	c.do("PUT", secrets+"/a", secret("b", ""))
	c.do("PUT", secrets+"/nobody", secret("nobody", ""))
	c.do("DELETE", secrets+"/nobody", "")
	c.do("DELETE", secrets+"/a", `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"another"}}`)
	c.do("DELETE", secrets+"/a", `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"resourceVersion":"`+a+`"}}`)
	c.do("DELETE", secrets+"/a", "")
	c.do("GET", "/api/v1/namespaces/default/gadgets", "")
	c.do("GET", "/apis/toys.example.com/v1/gadgets", "")

	fmt.Fprintln(&c.out, "# status")
	const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
	ingress := func(service, host string) string {
		return fmt.Sprintf(`{"kind":"Ingress","apiVersion":"networking.k8s.io/v1","metadata":{"name":"i"},
			"spec":{"defaultBackend":{"service":{"name":%q,"port":{"number":80}}}},
			"status":{"loadBalancer":{"ingress":[{"hostname":%q}]}}}`, service, host)
	}
	c.do("POST", ingresses, ingress("first", "first.example.com"))
	c.do("PUT", ingresses+"/i/status", ingress("second", "second.example.com"))
	c.do("PUT", ingresses+"/i", ingress("third", "third.example.com"))
	c.do("GET", ingresses+"/i", "")
	c.do("PUT", ingresses+"/nobody/status", strings.Replace(ingress("", ""), `"i"`, `"nobody"`, 1))

	fmt.Fprintln(&c.out, "# list")
	versions := map[string]string{}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		versions[name] = c.do("POST", secrets, secret(name, `,"labels":{"color":"`+[]string{"red", "blue"}[i%2]+`"}`))
	}
	versions["list"] = c.do("GET", secrets, "")
	c.do("GET", secrets+"?labelSelector=color%3Dred", "")
	c.do("GET", secrets+"?labelSelector=color+in", "")
	c.do("GET", secrets+"?fieldSelector=metadata.name%3Db", "")
	c.do("GET", secrets+"?fieldSelector=spec.nodeName%3Db", "")
	c.do("GET", "/api/v1/secrets?fieldSelector=metadata.namespace%3Ddefault", "")
	c.do("GET", "/api/v1/namespaces/default/pods?fieldSelector=spec.nodeName%3Dnobody", "")
	c.do("GET", secrets+"?limit=2", "")
	token := c.token
	c.do("DELETE", secrets+"/d", "")
	c.do("GET", secrets+"?limit=2&continue="+token, "") // still has d
	c.do("GET", secrets+"?limit=2&continue="+c.token, "")
	c.do("GET", secrets+"?limit=2&labelSelector=color%3Dred", "")
	c.do("GET", secrets+"?limit=2&resourceVersion=0", "")
	c.do("GET", secrets+"?limit=2&resourceVersion="+versions["list"]+"&continue="+token, "")
	c.do("GET", secrets+"?continue=nonsense", "")
	c.do("GET", secrets+"?resourceVersion="+versions["c"], "")                            // not older
	c.do("GET", secrets+"?limit=9&resourceVersion="+versions["c"], "")                    // exactly
	c.do("GET", secrets+"?resourceVersionMatch=Exact&resourceVersion="+versions["c"], "") // exactly
	c.do("GET", secrets+"?resourceVersionMatch=NotOlderThan&resourceVersion="+versions["c"], "")
	c.do("GET", secrets+"?resourceVersionMatch=Exact", "")
	c.do("GET", secrets+"?resourceVersion=nonsense", "")
	c.do("GET", secrets+"?resourceVersion=999999999", "")
	c.do("GET", secrets+"?sendInitialEvents=true", "")
	c.metadataOnly = true
	c.do("GET", secrets+"?limit=1", "")
	c.do("GET", secrets+"/a", "")
	c.metadataOnly = false

	fmt.Fprintln(&c.out, "# watch")
	c.do("PUT", secrets+"/b", secret("b", `,"labels":{"color":"red"}`))
	c.do("PUT", secrets+"/c", secret("c", `,"labels":{"color":"blue"}`))
	c.do("PUT", secrets+"/e", secret("e", `,"labels":{"color":"red","size":"big"}`))
	const watch = secrets + "?watch=true&timeoutSeconds=1"
	// Some watches begin with what the server's cache has, which can be behind. A list waits until it is not.
	if latest := c.send("GET", secrets, ""); latest != nil {
		latest.Body.Close()
	}
	c.watch(
		watch+"&resourceVersion="+versions["list"],
		watch+"&resourceVersion="+versions["list"]+"&labelSelector=color%3Dred",
		watch+"&resourceVersion="+versions["list"]+"&fieldSelector=metadata.name%3De",
		"/api/v1/secrets?watch=1&timeoutSeconds=1&resourceVersion="+versions["list"],
		watch,
		watch+"&resourceVersion=0",
		watch+"&resourceVersion=nonsense",
		watch+"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		watch+"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion="+versions["c"],
		watch+"&sendInitialEvents=true&allowWatchBookmarks=true",
		watch+"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
	)
	c.metadataOnly = true
	c.do("GET", watch+"&resourceVersion="+versions["list"]+"&fieldSelector=metadata.name%3De", "")
	c.metadataOnly = false

	fmt.Fprintln(&c.out, "# after a compaction")
	compact()
	c.do("GET", watch+"&resourceVersion="+versions["c"], "")
	c.do("GET", secrets+"?limit=2&continue="+token, "")
	c.do("GET", secrets+"?limit=2&continue="+c.token, "") // of the error
	c.do("GET", secrets+"?resourceVersionMatch=Exact&resourceVersion="+versions["c"], "")
	c.do("GET", secrets+"?resourceVersion="+versions["c"], "")
	return c.out.String()
}

// conversation writes each request and what matters of its answer.
type conversation struct {
	t            *testing.T
	host         string
	client       *http.Client
	metadataOnly bool
	out          bytes.Buffer
	token        string   // of the last list that had one
	versions     []string // of objects, in the order of their first appearance
}

// answer is an object, a list, a Status or an event.
type answer struct {
	Kind     string
	Reason   string
	Metadata answerMetadata
	Items    []answer
	Status   any
	Code     int

	Type   string
	Object *answer
}

type answerMetadata struct {
	Name, ResourceVersion, Continue string
	RemainingItemCount              *int
	Labels, Annotations             map[string]string
}

// do makes a request, and returns the resourceVersion of the answer.
func (c *conversation) do(method, path, body string) string {
	response := c.send(method, path, body)
	if response == nil {
		c.t.FailNow()
	}
	return c.note(method, path, response)
}

// watch makes all requests at the same time, because each takes a second.
func (c *conversation) watch(paths ...string) {
	responses := make([]*http.Response, len(paths))
	var group sync.WaitGroup
	for i, path := range paths {
		group.Go(func() { responses[i] = c.send("GET", path, "") })
	}
	group.Wait()
	for i, path := range paths {
		if responses[i] != nil {
			c.note("GET", path, responses[i])
		}
	}
}

// send makes a request. It returns nil after an error.
func (c *conversation) send(method, path, body string) *http.Response {
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.host+path, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return nil
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.metadataOnly {
		kind := "PartialObjectMetadata"
		if !strings.Contains(path, "watch=") && !strings.HasSuffix(path, "/a") {
			kind += "List"
		}
		request.Header.Set("Accept", "application/json;as="+kind+";g=meta.k8s.io;v=v1,application/json")
	}
	response, err := c.client.Do(request)
	if err != nil {
		c.t.Error(err)
	}
	return response
}

// note writes down an answer, and returns its resourceVersion.
func (c *conversation) note(method, path string, response *http.Response) string {
	defer response.Body.Close()
	// The numbers differ from run to run. A whole number is replaced: 9999 can be a version, and 999999999 is none.
	path = versionParameter.ReplaceAllStringFunc(path, func(parameter string) string {
		name, version, _ := strings.Cut(parameter, "=")
		if !slices.Contains(c.versions, version) {
			return parameter
		}
		return name + "=" + c.label(version)
	})
	before, _, found := strings.Cut(path, "continue=ey")
	if found {
		path = before + "continue=..."
	}
	fmt.Fprintf(&c.out, "%s %s: %d", method, path, response.StatusCode)
	if media := response.Header.Get("Content-Type"); media != "application/json" {
		fmt.Fprintf(&c.out, " %s\n", media)
		return ""
	}
	version := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			c.t.Fatalf("%v: %s", err, lines.Text())
		}
		if a.Object != nil {
			fmt.Fprintf(&c.out, "\n    %s", a.Type)
			a = *a.Object
		}
		c.write(a)
		version = a.Metadata.ResourceVersion
	}
	fmt.Fprintln(&c.out)
	return version
}

func (c *conversation) write(a answer) {
	fmt.Fprintf(&c.out, " %s", a.Kind)
	switch {
	case a.Kind == "Status":
		fmt.Fprintf(&c.out, " %v %d %s", a.Status, a.Code, a.Reason)
	case strings.HasSuffix(a.Kind, "List"):
		for _, item := range a.Items {
			fmt.Fprintf(&c.out, " %s=%s", item.Metadata.Name, c.label(item.Metadata.ResourceVersion))
		}
		if a.Metadata.RemainingItemCount != nil {
			fmt.Fprintf(&c.out, ", %d more", *a.Metadata.RemainingItemCount)
		}
	case a.Metadata.Name == "": // a bookmark, with a version that others count, too
		fmt.Fprintf(&c.out, " %v", a.Metadata.Annotations)
	default:
		fmt.Fprintf(&c.out, " %s=%s %v", a.Metadata.Name, c.label(a.Metadata.ResourceVersion), a.Metadata.Labels)
		if status := fmt.Sprint(a.Status); strings.Contains(status, "hostname") {
			fmt.Fprintf(&c.out, " status %s", status)
		}
	}
	if a.Metadata.Continue != "" {
		c.token = a.Metadata.Continue
		fmt.Fprint(&c.out, " continue")
	}
}

// label returns v1 for the first version that the conversation has, v2 for the second.
func (c *conversation) label(version string) string {
	if !slices.Contains(c.versions, version) {
		c.versions = append(c.versions, version)
	}
	return fmt.Sprintf("v%d", slices.Index(c.versions, version)+1)
}
