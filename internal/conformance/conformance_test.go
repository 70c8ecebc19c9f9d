package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

const (
	chapter6 = "./06-crd-codegen"
	rbac     = chapter6 + "/deploy/rbac.yaml"

	resourceFile = "databasemanager.yaml"
)

// overlay has go build take a broken controller's files.
func overlay(t *testing.T, folder, patch string) string {
	t.Helper()
	file, err := testkit.Overlay(testcluster.Root(t), folder, read(t, patch))
	if err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	return file
}

func read(t *testing.T, file string) string {
	t.Helper()
	return string(testkit.Must(os.ReadFile(file))(t))
}

// conformance runs the suite, and returns its exit code and what it has printed. It rests for a shorter time than a user's run.
func conformance(t *testing.T, arguments ...string) (int, string) {
	t.Helper()
	testcluster.InstallDatabaseManagers(t, testcluster.Config(t))
	arguments = append([]string{
		"--kubeconfig", testcluster.Kubeconfig(t), "--resource", resourceFile, "--rbac", filepath.Join(testcluster.Root(t), rbac),
		"--leader-flags", "--leader-elect --lease-duration=5s --lease-namespace={namespace}", "--rest", "3s", "--parallel", "4",
	}, arguments...)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), arguments, &stdout, &stderr)
	return code, stderr.String() + stdout.String() // the report of what is broken last
}

// TestChapter6KeepsItsPromises tries one case of one promise, which waits for no span to pass; make test-all tries some of each.
// `make conformance` tries all, and takes longer.
func TestChapter6KeepsItsPromises(t *testing.T) {
	t.Parallel()
	testcluster.Config(t) // without a cluster, nothing needs to be built
	tried, arguments := 1, []string{"--only", "life", "--sample", "1"}
	if testkit.RunsAll() {
		tried, arguments = len(promises), []string{"--sample", "3", "--objects", "20", "--timeout", "2m"}
	}
	report := filepath.Join(t.TempDir(), "report")
	code, output := conformance(t, append(arguments, "--controller", testcluster.Build(t, chapter6), "--report", report)...)
	if code != 0 {
		t.Errorf("exit code %d:\n%s", code, output)
	}
	var suite, same testSuite
	asXML, asJSON := []byte(read(t, report+".xml")), []byte(read(t, report+".json"))
	if err := errors.Join(xml.Unmarshal(asXML, &suite), json.Unmarshal(asJSON, &same)); err != nil {
		t.Fatal(err)
	}
	same.XMLName = suite.XMLName
	if diff := cmp.Diff(suite, same); diff != "" {
		t.Errorf("the two reports (-XML +JSON):\n%s", diff)
	}
	if suite.Tests != tried || len(suite.Cases) != tried || suite.Failures+suite.Skipped > 0 {
		t.Errorf("the report: %+v", suite)
	}
}

// keptLine is how the line of a promise begins that is kept.
var keptLine = regexp.MustCompile(`(?m)^\w+ +kept  `)

// TestTwinKeepsItsPromises tries some of the cases on the controller with controller-runtime, with the role that is generated for it.
// `make conformance CONTROLLER=twin` tries all. In an election, its fifth and sixth process end at once, as those do that have lost their
// Lease on a busy machine; the fourth ends when the suite takes the Lease away, and there must be another one.
func TestTwinKeepsItsPromises(t *testing.T) {
	testkit.All(t, "tries a controller for a minute")
	t.Parallel()
	testcluster.Config(t)
	twin := filepath.Join(t.TempDir(), "twin")
	const script = "#!/bin/sh\ncase \"$*\" in *kubeconfig-[56]*--leader-elect*) exit 1 ;; esac\nexec '%s' \"$@\"\n"
	err := os.WriteFile(twin, fmt.Appendf(nil, script, testcluster.Build(t, "./06-crd-codegen/controller-runtime")), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	code, output := conformance(t, "--controller", twin,
		"--rbac", filepath.Join(testcluster.Root(t), "06-crd-codegen/controller-runtime/role.yaml"),
		"--sample", "2", "--objects", "20", "--timeout", "2m")
	if kept := keptLine.FindAllString(output, -1); code != 0 || len(kept) != len(promises) {
		t.Errorf("exit code %d:\n%s", code, output)
	}
}

// TestChapter5KeepsItsPromises tries some cases on a controller of another resource, which has no status: ConfigMaps. docs/promises.md says
// which four it does not keep, and which one only by chance.
func TestChapter5KeepsItsPromises(t *testing.T) {
	testkit.All(t, "tries a controller for a minute")
	t.Parallel()
	testcluster.Config(t)
	code, output := conformance(t, "--controller", testcluster.Build(t, "./05-controller"), "--resource", "configmap.yaml",
		"--rbac", filepath.Join(testcluster.Root(t), "05-controller/rbac.yaml"), "--sample", "2", "--objects", "20", "--timeout", "2m",
		"--claims=-drift,-past,-transitions,-stability,-combined")
	if kept := keptLine.FindAllString(output, -1); code != 0 || len(kept) != len(promises)-len(aboutDatabaseManagers)-5 {
		t.Errorf("exit code %d:\n%s", code, output)
	}
}

// TestShardsKeepTheirPromises has three processes at once for a controller, each with its shard of the namespaces. Of each promise, one
// process has the namespace, and the other two write nothing. For an election it has one shard: it kills, pauses and cuts off the leader.
func TestShardsKeepTheirPromises(t *testing.T) {
	testkit.All(t, "tries a controller for a minute")
	t.Parallel()
	testcluster.Config(t)
	program, folder := testcluster.Build(t, chapter6), t.TempDir()
	three, role := filepath.Join(folder, "three"), filepath.Join(folder, "rbac.yaml")
	const script = "#!/bin/bash\ntrap 'wait; exit 0' TERM\nfor i in 1 2 3; do '%s' \"$@\" --shard=$i/3 >>'%s'.$i & done\nwait\n"
	const lease = "[workbook-06-crd-codegen"
	rules := strings.ReplaceAll(read(t, filepath.Join(testcluster.Root(t), rbac)), lease+"]", lease+"-1-of-1]")
	err := errors.Join(os.WriteFile(three, fmt.Appendf(nil, script, program, three), 0o700), os.WriteFile(role, []byte(rules), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for controller, claims := range map[string][]string{
		three: {"life", "crash", "quiet", "stability"}, program + " --shard=1/1": {"leaders"},
	} {
		code, output := conformance(t, "--controller", controller, "--claims", strings.Join(claims, ","), "--rbac", role,
			"--sample", "3", "--timeout", "2m")
		if kept := keptLine.FindAllString(output, -1); code != 0 || len(kept) != len(claims) {
			t.Errorf("%s: exit code %d:\n%s", controller, code, output)
		}
	}
	writers := map[string]string{} // by namespace
	for i := range 3 {
		file := fmt.Sprintf("%s.%d", three, i+1)
		for _, line := range createdLine.FindAllStringSubmatch(read(t, file), -1) {
			if writer, isKnown := writers[line[1]]; isKnown && writer != file {
				t.Errorf("%s and %s write in namespace %s", writer, file, line[1])
			}
			writers[line[1]] = file
		}
	}
	if len(writers) == 0 {
		t.Error("no shard has created a Deployment")
	}
}

var createdLine = regexp.MustCompile(`(?m)^CREATED +Deployment (\S+)/`)

// patches returns the broken controllers: each is a patch of chapter 6, whose first word is the promise that it breaks.
func patches(t *testing.T) (files []string) {
	t.Helper()
	files, err := filepath.Glob("broken/*.patch")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d patches: %v", len(files), err)
	}
	return files
}

func promiseOf(t *testing.T, patch string) string {
	promise, _, _ := strings.Cut(read(t, patch), ":")
	return promise
}

func TestBrokenControllersApplyAndBreakEachPromise(t *testing.T) {
	broken := map[string]bool{}
	for _, patch := range patches(t) {
		overlay(t, t.TempDir(), patch)
		broken[promiseOf(t, patch)] = true
	}
	for _, p := range promises {
		if !broken[p.name] {
			t.Errorf("no broken controller fails the promise %s", p.name)
		}
	}
}

// TestBrokenControllersAreFound has a broken controller for each promise fail that promise: the first of each, and all of them with
// CONFORMANCE=all.
func TestBrokenControllersAreFound(t *testing.T) {
	testkit.All(t, "compiles and tries broken controllers")
	t.Parallel()
	testcluster.Config(t)
	tried := map[string]bool{}
	for _, patch := range patches(t) {
		promise := promiseOf(t, patch)
		if tried[promise] && os.Getenv("CONFORMANCE") != "all" {
			continue
		}
		tried[promise] = true
		t.Run(strings.TrimSuffix(filepath.Base(patch), ".patch"), func(t *testing.T) {
			t.Parallel()
			sample := "0" // by chance, the one case could be left out that shows it
			switch promise {
			case "drift":
				sample = "8" // fields of each child
			case "deletion":
				sample = "24" // of 78 ways; a third of them shows it
			}
			root, folder := testcluster.Root(t), t.TempDir()
			controller := testcluster.Build(t, chapter6, "-overlay", overlay(t, folder, patch))
			role := filepath.Join(folder, rbac)
			if _, err := os.Stat(role); err != nil { // the patch does not change it
				role = filepath.Join(root, rbac)
			}
			code, output := conformance(t, "--controller", controller, "--rbac", role,
				"--only", promise, "--timeout", "10s", "--sample", sample, "--objects", "60")
			if code != 1 || !strings.Contains(output, "-expected +seen") {
				t.Errorf("exit code %d, want 1 and a difference:\n%s", code, output)
			}
		})
	}
}

// TestAnotherControllerEndsTheSuite has somebody change the object that no controller of the suite sees.
func TestAnotherControllerEndsTheSuite(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	testcluster.InstallDatabaseManagers(t, config)
	databases := testkit.Must(readResource(resourceFile, config))(t)
	o := options{rbac: filepath.Join(testcluster.Root(t), rbac), resource: databases, timeout: time.Minute}
	for name, touch := range map[string]func(context.Context, *World) error{
		"nobody else": func(context.Context, *World) error { return nil },
		"while the suite runs": func(ctx context.Context, w *World) error {
			err := w.patch(ctx, "untouched", `{"metadata": {"finalizers": ["example.com/other"]}}`)
			<-ctx.Done()
			return err
		},
		"at its end": func(ctx context.Context, w *World) error {
			return w.patch(ctx, "untouched", `{"spec": {"replicas": 1}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := newWorld(t.Context(), o, config, nil)
			var touchErr error
			if err == nil {
				err = w.untouched(t.Context(), func(ctx context.Context) { touchErr = touch(ctx, w) })
			}
			if want := name != "nobody else"; errors.Is(err, errOther) != want || touchErr != nil {
				t.Errorf("untouched = %v, want another controller: %t; touch = %v", err, want, touchErr)
			}
			if err := w.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// proxyTo returns a handler that passes requests on to the cluster.
func proxyTo(t *testing.T, config *rest.Config) http.Handler {
	host := testkit.Must(url.Parse(config.Host))(t)
	return &httputil.ReverseProxy{
		Rewrite:   func(request *httputil.ProxyRequest) { request.SetURL(host) },
		Transport: testkit.Must(rest.TransportFor(config))(t),
	}
}

// TestWhatTheSuiteCannotSeeIsTriedAgain has requests of the suite itself fail, or take long during an election. The controller ends.
func TestWhatTheSuiteCannotSeeIsTriedAgain(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	testcluster.InstallDatabaseManagers(t, config)
	controller := filepath.Join(t.TempDir(), "controller")
	if err := os.WriteFile(controller, []byte("#!/bin/sh\nsleep 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const slow = 1100 * time.Millisecond
	for name, test := range map[string]struct {
		only     string
		failures int32         // of the first creation
		delay    time.Duration // of a change
		code     int
		result   string
	}{
		"a request fails each time": {"end", 2, 0, 3, "unseen"},
		"a request fails once":      {"end", 1, 0, 1, "BROKEN"},
		"the server is slow":        {"leaders", 0, slow, 3, "unseen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, asked := proxyTo(t, config), atomic.Int32{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				body, err := io.ReadAll(request.Body)
				isFirst := strings.HasSuffix(request.URL.Path, "/databasemanagers") && bytes.Contains(body, []byte(`"end00"`))
				if err != nil || isFirst && asked.Add(1) <= test.failures {
					http.Error(w, "etcd is slow", http.StatusInternalServerError)
					return
				}
				if bytes.Contains(body, []byte(`"spec"`)) && request.Method == http.MethodPatch {
					time.Sleep(test.delay)
				}
				request.Body = io.NopCloser(bytes.NewReader(body))
				proxy.ServeHTTP(w, request)
			}))
			t.Cleanup(server.Close)
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{
				"--kubeconfig", testkit.Kubeconfig(t, server.URL), "--controller", controller, "--only", test.only,
				"--resource", resourceFile, "--rbac", filepath.Join(testcluster.Root(t), rbac),
			}, &stdout, &stderr)
			if code != test.code || !regexp.MustCompile(`(?m)^`+test.only+` +`+test.result).MatchString(stdout.String()) {
				t.Errorf("exit code %d, want %d and %s:\n%s%s", code, test.code, test.result, &stderr, &stdout)
			}
		})
	}
}

// TestResultsAreThereWhenTheEndFails has a server that says it does not delete namespaces.
func TestResultsAreThereWhenTheEndFails(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	testcluster.InstallDatabaseManagers(t, config)
	proxy := proxyTo(t, config)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		name, isNamespace := strings.CutPrefix(request.URL.Path, "/api/v1/namespaces/")
		if request.Method == http.MethodDelete && isNamespace && !strings.Contains(name, "/") {
			proxy.ServeHTTP(httptest.NewRecorder(), request) // it does, so that none is left
			http.Error(w, "no namespace is deleted", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{
		"--kubeconfig", testkit.Kubeconfig(t, server.URL), "--controller=x", "--only=leaders", "--claims=-leaders",
		"--resource", resourceFile, "--rbac", filepath.Join(testcluster.Root(t), rbac),
	}, &stdout, &stderr)
	if code != 2 || !strings.Contains(stderr.String(), "no namespace is deleted") || !strings.Contains(stdout.String(), "skipped") {
		t.Errorf("exit code %d, want 2, the reason, and the results:\n%s%s", code, &stderr, &stdout)
	}
}

// TestPromisesAreInTheDocs compares the list with the page's table.
func TestPromisesAreInTheDocs(t *testing.T) {
	want, got := "", ""
	for _, p := range promises {
		want += fmt.Sprintf("| **%s**: %s\n", p.name, p.sentence)
	}
	page := read(t, filepath.Join(testcluster.Root(t), "docs", "promises.md"))
	for _, row := range regexp.MustCompile(`(?m)^(\| \*\*.*?) \|`).FindAllStringSubmatch(page, -1) {
		got += row[1] + "\n"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/promises.md has other promises (-promises.go +docs/promises.md):\n%s", diff)
	}
}

// TestSourcesExist looks for what the reports name.
func TestSourcesExist(t *testing.T) {
	for _, p := range promises {
		file, name, _ := strings.Cut(p.source, ": ")
		// The folder is a package of a module that this one needs.
		folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", filepath.Dir(file)).Output()
		if err != nil {
			t.Errorf("%s: %s: %v", p.name, file, err)
			continue
		}
		text := read(t, filepath.Join(strings.TrimSpace(string(folder)), filepath.Base(file)))
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
			t.Errorf("%s: %s has no %s", p.name, file, name)
		}
	}
}

func TestWrongUsageHasExitCode2(t *testing.T) {
	for want, arguments := range map[string][]string{
		`there is no promise "lives"`:  {"--controller=x", "--kubeconfig=y", "--only=lives"},
		`there is no promise "leader"`: {"--controller=x", "--kubeconfig=y", "--claims=all,-leader"},
		`unknown argument "x"`:         {"x"},
		"run make conformance":         {"--kubeconfig=y"},
		"unknown flag: --x":            {"--x"},
		"there is no stage 0":          {"--controller=x", "--kubeconfig=y", "--capstone", "--stage=0"},
		"stage 3 has no promise end":   {"--controller=x", "--kubeconfig=y", "--capstone", "--stage=3", "--only=end"},
		"ONLY needs the stage":         {"--controller=x", "--kubeconfig=y", "--capstone", "--only=end"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), arguments, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit code %d, %q, want %q", arguments, code, &stderr, want)
		}
	}
}

func TestWhatIsNotClaimedIsSkipped(t *testing.T) {
	o, err := parse([]string{"--controller=x", "--kubeconfig=y", "--claims=-leaders"})
	if err != nil || o.claimed("leaders") || !o.claimed("life") {
		t.Errorf("%v: all but leaders are claimed: %v", err, o.claims)
	}
	o, err = parse([]string{"--controller=x", "--kubeconfig=y", "--claims=life,quiet"})
	if err != nil || o.claimed("leaders") || !o.claimed("life") {
		t.Errorf("%v: life and quiet are claimed: %v", err, o.claims)
	}
	results := tryAll(t.Context(), options{claims: []string{"-leaders"}, only: "leaders"}, nil, &bytes.Buffer{}, promises)
	var table bytes.Buffer
	if printTable(&table, results); !strings.Contains(table.String(), "skipped") {
		t.Errorf("the table:\n%s", &table)
	}
}
