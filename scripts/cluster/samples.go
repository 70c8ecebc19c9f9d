package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// samples puts the sample objects on the cluster and waits until their pods are ready: all of them, or those that
// chapter N needs, which are its own and the earlier chapters'. Changed ones are applied again; with --if-missing only
// the files of which an object is missing, so what a reader has changed stays. With --pods, it also scales chapter 3's crowd.
//
// It says which objects it has created or changed. A sample that cannot run, for want of its image say, is not waited
// for long: it is named, with the reason that its pod gives.
func (c *cluster) samples(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("samples", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	ifMissing := flags.Bool("if-missing", false, "")
	crowd, pods := false, 0
	flags.Func("pods", "", func(value string) (err error) {
		crowd = true
		if pods, err = strconv.Atoi(value); err != nil || pods < 0 || pods > maxCrowd {
			return fmt.Errorf("the crowd has 0 to %d pods", maxCrowd)
		}
		return nil
	})
	if err := flags.Parse(arguments); err != nil {
		return usageError(fmt.Sprintf("%v: try make samples 3 PODS=3000.", err))
	}
	last := 99
	if flags.NArg() > 0 {
		var err error
		last, err = strconv.Atoi(flags.Arg(0))
		if err != nil || last < 0 {
			return usageError(fmt.Sprintf("%s is no chapter's number: try scripts/apply-samples.sh 1.", flags.Arg(0)))
		}
	}
	if crowd && last < 3 {
		return usageError("The crowd of pods is a sample of chapter 3: try make samples 3 PODS=3000.")
	}
	manifests, err := filepath.Glob(filepath.Join(escapeGlob(c.root), "scripts", "samples", "*.yaml"))
	if err != nil {
		return err
	}
	var files []string
	for _, file := range manifests {
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		if n, err := strconv.Atoi(number); err == nil && n <= last {
			files = append(files, "-f", file)
		}
	}
	if len(files) == 0 {
		return nil
	}
	if c.clusterType() == "" {
		return message("There is no cluster to put the samples on: run make cluster.")
	}

	// Chapter 6's objects are of a kind that the server has to be taught first, and again when its types have changed.
	if last >= 6 {
		_, err := c.runKubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(c.root, "06-crd-codegen", "crd"))
		// A new CRD's conditions are null, which kubectl wait takes for an error. With its names accepted it has the first.
		for _, state := range []string{"jsonpath={.status.acceptedNames.plural}=databasemanagers", "condition=Established"} {
			if err == nil {
				_, err = c.runKubectl(ctx, "wait", "--for="+state, "--timeout=60s", "crd/databasemanagers.coolops.cn")
			}
		}
		if err != nil {
			return c.failed(ctx, "The CRD of chapter 6 cannot be put on the cluster", err)
		}
	}
	// To apply the crowd would scale it to 0 first.
	if err := c.apply(ctx, files, *ifMissing || crowd); err != nil || !crowd {
		return err
	}
	return c.scaleCrowd(ctx, pods)
}

// apply applies the manifests, with ifMissing only where an object is missing, and waits until their pods are ready.
func (c *cluster) apply(ctx context.Context, files []string, ifMissing bool) error {
	if ifMissing {
		if files = c.incomplete(ctx, files); len(files) == 0 {
			return nil
		}
	}
	output, err := c.runKubectl(ctx, append([]string{"apply"}, files...)...)
	if err != nil {
		return c.failed(ctx, "The samples cannot be put on the cluster", err)
	}
	say("Samples: %s.", summary(string(output)))
	return c.waitForSamples(ctx, files)
}

// incomplete returns those of the files of which an object is missing.
func (c *cluster) incomplete(ctx context.Context, files []string) (found []string) {
	api, err := c.api()
	if err != nil {
		return files
	}
	for file := range slices.Chunk(files, 2) { // -f and a name
		if !api.hasAll(ctx, file[1]) {
			found = append(found, file...)
		}
	}
	return found
}

// hasAll reports whether all objects of a manifest are on the cluster. Each start of a chapter asks this: kubectl would take a second.
// The server says by what name a kind is in a path, and whether in a namespace.
func (a *api) hasAll(ctx context.Context, manifest string) bool {
	data, err := os.ReadFile(manifest)
	if err != nil {
		return false
	}
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var object struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct{ Name, Namespace string }
		}
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			return false
		}
		path := "/apis/" + object.APIVersion
		if object.APIVersion == "v1" {
			path = "/api/v1"
		}
		var list struct {
			Resources []struct {
				Name, Kind string
				Namespaced bool
			}
		}
		if a.get(ctx, path, &list) != nil {
			return false
		}
		for _, resource := range list.Resources {
			if resource.Kind != object.Kind || strings.Contains(resource.Name, "/") { // pods/status
				continue
			}
			if resource.Namespaced {
				path += "/namespaces/" + cmp.Or(object.Metadata.Namespace, "default")
			}
			path += "/" + resource.Name
		}
		if a.get(ctx, path+"/"+object.Metadata.Name, nil) != nil {
			return false
		}
	}
}

// summary returns in one line what kubectl apply prints in one line for each object, such as "pod/nginx-1 created". The
// unchanged ones are only counted.
func summary(output string) string {
	names := map[string][]string{}
	for line := range strings.Lines(output) {
		if name, verb, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			names[verb] = append(names[verb], name)
		}
	}
	var parts []string
	for _, verb := range slices.Sorted(maps.Keys(names)) {
		if verb != "unchanged" {
			parts = append(parts, verb+" "+strings.Join(names[verb], ", "))
		}
	}
	if unchanged := len(names["unchanged"]); unchanged > 0 {
		parts = append(parts, fmt.Sprintf("%d unchanged", unchanged))
	}
	return strings.Join(parts, "; ")
}

// With many more pods, a small machine has no memory left for the rest.
const maxCrowd = 20000

// scaleCrowd gives chapter 3's Deployment this number of pods, and waits until they exist. They never become ready.
func (c *cluster) scaleCrowd(ctx context.Context, pods int) error {
	crowd := []string{"deployment/crowd", "--namespace=shop"}
	if _, err := c.runKubectl(ctx, append([]string{"scale", fmt.Sprintf("--replicas=%d", pods)}, crowd...)...); err != nil {
		return c.failed(ctx, "The Deployment shop/crowd cannot be scaled", err)
	}
	progress := newWaiting()
	defer progress.done()
	lastChange, have := time.Now(), -1
	for have != pods {
		var deployment object
		if err := c.kubectlJSON(ctx, &deployment, append([]string{"get"}, crowd...)...); err != nil {
			return c.failed(ctx, "The Deployment shop/crowd cannot be read", err)
		}
		if deployment.Status.Replicas != have {
			lastChange, have = time.Now(), deployment.Status.Replicas
		}
		if time.Since(lastChange) > startPatience {
			return messagef("The Deployment shop/crowd stays at %d of %d pods: see scripts/kubectl describe replicasets -n shop.",
				have, pods)
		}
		progress.show(fmt.Sprintf("pods of shop/crowd: %d of %d", have, pods))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	progress.done()
	say("The Deployment shop/crowd has %d pods.", pods)
	return nil
}

// A pod that cannot run says so at once, but may still be one whose image comes at the second try.
const (
	samplePatience = 10 * time.Second
	startPatience  = 2 * time.Minute
)

func (c *cluster) waitForSamples(ctx context.Context, files []string) error {
	progress := newWaiting()
	defer progress.done()
	start := time.Now()
	stuck := map[string]time.Time{} // since when
	givenUp := map[string]bool{}
	for {
		var samples objects
		if err := c.kubectlJSON(ctx, &samples, append([]string{"get"}, files...)...); err != nil {
			return c.failed(ctx, "The samples cannot be read", err)
		}
		var waiting []string
		for _, sample := range samples.Items {
			name := fmt.Sprintf("%s %s/%s", sample.Kind, sample.Metadata.Namespace, sample.Metadata.Name)
			if sample.ready() || givenUp[name] {
				continue
			}
			reason, err := c.whyNot(ctx, sample)
			if err != nil {
				return err
			}
			if reason == "" {
				delete(stuck, name)
			} else if stuck[name].IsZero() {
				stuck[name] = time.Now()
			}
			switch {
			case reason != "" && time.Since(stuck[name]) > samplePatience:
				givenUp[name] = true
				say("The sample %s does not run: %s", name, reason)
			case time.Since(start) > startPatience:
				givenUp[name] = true
				say("The sample %s is not ready after %s.", name, startPatience)
			default:
				waiting = append(waiting, name)
			}
		}
		if len(waiting) == 0 {
			if len(givenUp) > 0 {
				say("Going on: the chapters read these objects, and need no running container.")
			}
			return nil
		}
		progress.show(strings.Join(waiting, ", "))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// objects is a list as kubectl prints it, with what counts here.
type objects struct{ Items []object }

type object struct {
	Kind     string
	Metadata struct{ Namespace, Name string }
	Spec     struct {
		Selector struct{ MatchLabels map[string]string }
	}
	Status struct {
		Replicas          int
		Conditions        []struct{ Type, Status, Reason, Message string }
		ContainerStatuses []struct {
			State struct {
				Waiting *struct{ Reason, Message string }
			}
		}
	}
}

// ready reports whether a sample is as it should be: a kind without pods always is.
func (o object) ready() bool {
	wanted := map[string]string{"Pod": "Ready", "Deployment": "Available"}[o.Kind]
	for _, condition := range o.Status.Conditions {
		if condition.Type == wanted && condition.Status == "True" {
			return true
		}
	}
	return wanted == ""
}

// whyNot returns why a sample's pods cannot run, in their own words; nothing while they may still start.
func (c *cluster) whyNot(ctx context.Context, sample object) (string, error) {
	pods := objects{Items: []object{sample}}
	if sample.Kind == "Deployment" {
		var labels []string
		for name, value := range sample.Spec.Selector.MatchLabels {
			labels = append(labels, name+"="+value)
		}
		err := c.kubectlJSON(ctx, &pods, "get", "pods", "--namespace", sample.Metadata.Namespace, "--selector", strings.Join(labels, ","))
		if err != nil {
			return "", err
		}
	}
	for _, pod := range pods.Items {
		for _, container := range pod.Status.ContainerStatuses {
			if w := container.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
				return oneLine(w.Reason + ": " + w.Message), nil
			}
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == "PodScheduled" && condition.Status == "False" {
				return oneLine(condition.Reason + ": " + condition.Message), nil
			}
		}
	}
	return "", nil
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 300)]
}

// failed says what kubectl could not do. Only a cluster that is not up is cured by make cluster.
func (c *cluster) failed(ctx context.Context, what string, err error) error {
	advice := cmp.Or(c.missing(ctx), "The cluster is up: correct that if need be, and run this again.")
	return messagef("%s: %v. %s", what, err, advice)
}

// runKubectl returns what kubectl prints, whatever the reader's ~/.kube/kuberc makes of his own calls.
func (c *cluster) runKubectl(ctx context.Context, arguments ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.kubectl(), append([]string{"--kubeconfig=" + filepath.Join(c.folder, "kubeconfig")}, arguments...)...)
	cmd.Env = append(os.Environ(), "KUBERC=off", "KUBECACHEDIR="+filepath.Join(c.folder, "kubectl-cache"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if said := kubectlError(stderr.String()); err != nil && said != "" {
		err = errors.New(said)
	}
	return output, err
}

// logLine matches a line of klog, a warning, or nothing.
var logLine = regexp.MustCompile(`^[IWEF]\d{4} |^Warning: |^\s*$`)

// kubectlError returns the line in which kubectl says what is wrong. Logs and warnings come before it, advice comes behind it. If it
// ends with a colon, a list follows, and this takes the first of that.
func kubectlError(stderr string) (said string) {
	if i := strings.LastIndex(stderr, "\nfor: "); i >= 0 { // before it is the patch that was refused
		stderr = stderr[i+1:]
	}
	for line := range strings.Lines(stderr) {
		if said == "" && logLine.MatchString(line) {
			continue
		}
		said += line
		if said = strings.TrimSpace(said); !strings.HasSuffix(said, ":") {
			break
		}
		said += " "
	}
	return oneLine(said)
}

func (c *cluster) kubectlJSON(ctx context.Context, into any, arguments ...string) error {
	output, err := c.runKubectl(ctx, append(arguments, "-o", "json")...)
	if err != nil {
		return err
	}
	return json.Unmarshal(output, into)
}
