package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/client-go-workbook/internal/test/testkit"
)

func TestDeployNeedsAKindCluster(t *testing.T) {
	for name, test := range map[string]struct{ marker, want string }{
		"none":  {"", "There is no cluster: run CLUSTER=kind make cluster.\n"},
		"local": {"local workbook", "The local cluster runs no containers: run make cluster-down, then CLUSTER=kind make cluster.\n"},
		"kind, which is gone": {
			"kind workbook-that-is-gone", "The kind cluster does not answer: run make cluster.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if test.marker != "" {
				write(t, filepath.Join(folder, "type"), test.marker+" "+folder+"\n")
			}
			for _, script := range []string{"./deploy.sh", "./undeploy.sh"} {
				got := run(t, []string{"CLUSTER_DIR=" + folder}, script)
				if want := (result{"", test.want, 1}); got != want {
					t.Errorf("%s: got %+v, want %+v", script, got, want)
				}
			}
		})
	}
}

const system = "databasemanager-system"

// TestKindDeploy runs the controller inside a cluster of its own. On the tests' cluster it would write beside the
// controllers of the other tests, and undeploy would delete their objects.
func TestKindDeploy(t *testing.T) {
	c := newKindCluster(t)
	c.run(t, "./cluster-up.sh")
	for _, step := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"undeploy of nothing", undeployedTwice},
		{"deploy", deployed},
		{"the namespace rejects a pod that is less strict", restricted},
		{"deploy again changes nothing", deployedTwice},
		{"deploy of a changed program rolls it out", changedProgram},
		{"undeploy while the controller runs", undeployed},
		{"undeploy again", undeployedTwice},
		{"undeploy where no controller runs", undeployedWithoutController},
		{"undeploy where somebody else's finalizer stays", undeployedWithAStrangersFinalizer},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, c) }) {
			return
		}
	}
}

func deployed(t *testing.T, c *cluster) {
	output := c.run(t, "./deploy.sh")
	var megabytes int
	_, size, _ := strings.Cut(output, "The image has ")
	if _, err := fmt.Sscanf(size, "%d MB", &megabytes); err != nil || megabytes >= 70 {
		t.Errorf("the image has %d MB (%v), want less than 70, in:\n%s", megabytes, err, output)
	}
	// The pods have been ready, but the kubelet can write once more a status that it has read before (its SyncPod).
	var pods []string
	var described string
	testkit.Await(t, "two ready pods that have not been restarted", func() bool {
		described, pods = c.run(t, "./kubectl", "describe", "pods", "-n", system), c.pods(t)
		return len(pods) == 2
	}, &described)
	leader := c.readyLeader(t)
	for _, pod := range pods {
		log := c.run(t, "./kubectl", "logs", "-n", system, pod)
		// The first line, beside the lines of standard output: containerd keeps no order between the two.
		first := regexp.MustCompile(`^([A-Z]+ .*\n)*context in-cluster, server https://[\d.]+:443, Kubernetes v1\.\d+\.\d+\n`)
		if !first.MatchString(log) {
			t.Errorf("%s has another first line:\n%s", pod, log)
		}
		if pod != leader && strings.Contains(log, "LEADER") {
			t.Errorf("%s leads beside %s:\n%s", pod, leader, log)
		}
	}
	c.createDatabase(t, "example", "Delete")
	c.createDatabase(t, "kept", "Retain")
}

// pods returns the names of the controller's pods that are ready and have not been restarted.
func (c *cluster) pods(t *testing.T) (names []string) {
	t.Helper()
	const perPod = `{range .items[*]}{.metadata.name} {.metadata.deletionTimestamp} {.status.containerStatuses[0].ready} ` +
		`{.status.containerStatuses[0].restartCount}{"\n"}{end}`
	for line := range strings.Lines(c.run(t, "./kubectl", "get", "pods", "-n", system, "-o", "jsonpath="+perPod)) {
		if name, found := strings.CutSuffix(line, "  true 0\n"); found {
			names = append(names, name)
		}
	}
	return names
}

// createDatabase creates a DatabaseManager, and waits until the controller has brought it to its desired state. It has no
// pods: what is in them is not the topic here.
func (c *cluster) createDatabase(t *testing.T, name, deletionPolicy string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "database.yaml")
	write(t, file, `apiVersion: coolops.cn/v1alpha1
kind: DatabaseManager
metadata: {name: `+name+`, namespace: default}
spec: {dbtype: mariadb, deploymentName: `+name+`, replicas: 0, deletionPolicy: `+deletionPolicy+"}\n")
	c.run(t, "./kubectl", "apply", "-f", file)
	c.run(t, "./kubectl", "wait", "dbm/"+name, "--for=condition=Ready", "--timeout=5m")
}

func restricted(t *testing.T, c *cluster) {
	got := run(t, c.env, "./kubectl", "run", "root", "-n", system, "--image=any:1")
	if got.code == 0 || !strings.Contains(got.stderr, `violates PodSecurity "restricted:latest"`) {
		t.Errorf("%+v", got)
	}
}

func deployedTwice(t *testing.T, c *cluster) {
	// A change of the status is a version, too. An object with a status has a generation, which only others' changes raise.
	hasGeneration := regexp.MustCompile(`generation=(\d+) .*`)
	versions := func() string {
		return hasGeneration.ReplaceAllString(c.run(t, "./kubectl", "get", "-k", "../06-crd-codegen/deploy", "-o",
			`jsonpath={range .items[*]}{.kind} generation={.metadata.generation} {.metadata.resourceVersion}{"\n"}{end}`), "$1")
	}
	before, pods := versions(), c.pods(t)
	c.run(t, "./deploy.sh")
	if after := versions(); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
	if after := c.pods(t); fmt.Sprint(after) != fmt.Sprint(pods) {
		t.Errorf("pods %q, then %q", pods, after)
	}
}

// changedProgram deploys from a copy of the checkout in which the program's first line of log differs.
func changedProgram(t *testing.T, c *cluster) {
	root := checkout(t)
	main := filepath.Join(root, "06-crd-codegen", "main.go")
	text := string(testkit.Must(os.ReadFile(main))(t))
	changed := strings.Replace(text, `= "DatabaseManager" `, `= "changed DatabaseManager" `, 1)
	if changed == text {
		t.Fatal("nothing is changed")
	}
	write(t, main, changed)
	image := c.image(t)
	before := c.pods(t)
	c.run(t, filepath.Join(root, "scripts", "deploy.sh"))
	if after := c.image(t); after == image {
		t.Errorf("the image is still %s", image)
	}
	testkit.Await(t, "the earlier pods to be gone, and one of the new ones to lead", func() bool {
		log := ""
		for _, pod := range c.pods(t) {
			if strings.Contains(strings.Join(before, " "), pod) {
				return false
			}
			log += c.run(t, "./kubectl", "logs", "-n", system, pod)
		}
		return strings.Count(log, "Starting changed DatabaseManager controller") == 1
	})
	c.createDatabase(t, "later", "Delete")
}

func (c *cluster) image(t *testing.T) string {
	t.Helper()
	return c.run(t, "./kubectl", "get", "deployment", "databasemanager-controller", "-n", system,
		"-o", "jsonpath={.spec.template.spec.containers[0].image}")
}

func undeployed(t *testing.T, c *cluster) {
	output := c.run(t, "./undeploy.sh")
	if strings.Contains(output, "it is removed here") {
		t.Errorf("the controller has not removed its finalizers itself:\n%s", output)
	}
	if want := "Kept, because of deletionPolicy Retain, with Secret, Service and claim: default/kept \n"; !strings.HasSuffix(output, want) {
		t.Errorf("printed, without %q at the end:\n%s", want, output)
	}
	c.hasNothingLeft(t)
	c.onlyKeptIsLeft(t)
}

// onlyKeptIsLeft checks that the children of all DatabaseManagers but kept are gone, and deletes the children of kept.
func (c *cluster) onlyKeptIsLeft(t *testing.T) {
	t.Helper()
	const want = "deployment.apps/kept\nsecret/kept-root\n"
	if got := c.run(t, "./kubectl", "get", "deployments,secrets", "-o", "name"); got != want {
		t.Errorf("left:\n%swant:\n%s", got, want)
	}
	c.run(t, "./kubectl", "delete", "deployment/kept", "secret/kept-root", "service/kept")
}

// hasNothingLeft checks that no object of the manifests is left. The CRD is one of them, so no DatabaseManager is.
func (c *cluster) hasNothingLeft(t *testing.T) {
	t.Helper()
	manifests := c.run(t, "./kubectl", "kustomize", "../06-crd-codegen/deploy")
	kinds := regexp.MustCompile(`(?m)^kind: (\w+)\nmetadata:\n(?:  .*\n)*?  name: (\S+)\n`).FindAllStringSubmatch(manifests, -1)
	if want := strings.Count(manifests, "\n---\n") + 1; len(kinds) != want {
		t.Fatalf("%d of %d objects found in:\n%s", len(kinds), want, manifests)
	}
	for _, object := range kinds {
		if got := c.run(t, "./kubectl", "get", object[1]+"/"+object[2], "-n", system, "--ignore-not-found", "-o", "name"); got != "" {
			t.Errorf("%s is left", got)
		}
	}
}

func undeployedTwice(t *testing.T, c *cluster) {
	if output := c.run(t, "./undeploy.sh"); output != "" {
		t.Errorf("printed:\n%s", output)
	}
}

func undeployedWithoutController(t *testing.T, c *cluster) {
	c.run(t, "./deploy.sh")
	c.createDatabase(t, "short", "Delete") // the CRD is younger than 30 s: the garbage collector does not know it yet
	c.createDatabase(t, "kept", "Retain")
	c.run(t, "./kubectl", "scale", "deployment/databasemanager-controller", "-n", system, "--replicas=0")
	testkit.Await(t, "the pods to be gone", func() bool { return c.run(t, "./kubectl", "get", "pods", "-n", system, "-o", "name") == "" })
	start := time.Now()
	output := c.run(t, "./undeploy.sh")
	t.Logf("%s", time.Since(start).Round(time.Second))
	if want := "No controller has removed the finalizer of default/kept: it is removed here.\n"; !strings.Contains(output, want) {
		t.Errorf("printed, without %q:\n%s", want, output)
	}
	c.hasNothingLeft(t)
	c.onlyKeptIsLeft(t)
}

func undeployedWithAStrangersFinalizer(t *testing.T, c *cluster) {
	c.run(t, "./deploy.sh")
	c.createDatabase(t, "strange", "Delete")
	c.run(t, "./kubectl", "patch", "dbm", "strange", "--type=merge", "-p", `{"metadata": {"finalizers": ["example.com/stranger"]}}`)
	start := time.Now()
	got := run(t, c.env, "./undeploy.sh")
	t.Logf("%s", time.Since(start).Round(time.Second))
	want := "These DatabaseManagers have finalizers of others: default/strange \nNot all is gone yet: run make undeploy again.\n"
	if got.code != 1 || !strings.HasSuffix(got.stderr, want) {
		t.Errorf("%+v, want %q at the end of stderr", got, want)
	}
	c.run(t, "./kubectl", "patch", "dbm", "strange", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
	c.run(t, "./undeploy.sh")
	c.hasNothingLeft(t)
}

// BenchmarkKindThousand shows what a pod takes that leads, with 1,000 DatabaseManagers: 3,000 children without pods.
//
//	CLUSTER=kind go test ./scripts -run '^$' -bench KindThousand -benchtime 1x
func BenchmarkKindThousand(b *testing.B) {
	c := newKindCluster(b)
	c.run(b, "./cluster-up.sh")
	for b.Loop() {
		c.run(b, "./deploy.sh")
		leader := c.readyLeader(b)
		// metric is a figure that the program's own /metrics reports.
		metric := func(name string) (value float64) {
			metrics := c.run(b, "./kubectl", "get", "--raw", "/api/v1/namespaces/"+system+"/pods/"+leader+":8080/proxy/metrics")
			_, rest, _ := strings.Cut(metrics, "\n"+name+" ")
			if _, err := fmt.Sscan(rest, &value); err != nil {
				b.Fatalf("%s: %v in:\n%s", name, err, metrics)
			}
			return value
		}
		empty, before, start := metric("process_resident_memory_bytes"), metric("process_cpu_seconds_total"), time.Now()
		l := newLoad(b, c, 1000, 10*time.Millisecond)
		testkit.Await(b, "1,000 DatabaseManagers", func() bool { return l.created() == 1000 })
		l.untilReady()
		b.ReportMetric(time.Since(start).Seconds(), "s-until-all-are-ready")
		b.ReportMetric(metric("process_cpu_seconds_total")-before, "cpu-s-until-then")
		b.ReportMetric(empty/1e6, "MB-with-none")
		b.ReportMetric(metric("process_resident_memory_bytes")/1e6, "MB")
	}
}
