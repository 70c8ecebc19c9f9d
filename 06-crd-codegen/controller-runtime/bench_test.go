package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sync/errgroup"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/controller/ssa"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

const (
	benchWorkers = 10
	benchRounds  = 5   // of each program, in turns
	benchObjects = 200 // in each round
	benchApplies = 100 // in each round, one after the other
	benchStarts  = 5   // of each program, in turns
	benchNew     = 20  // objects at each start
	benchResync  = 80 * time.Second
	blind        = "blind writes"
)

// side is what one program took.
type side struct {
	name               string
	command            []string // nil: blind writes
	metrics            string   // the flag for the address of its metrics
	children, statuses time.Duration
	cpu                float64 // seconds
	requests, bytes    float64 // for each object
	applies            []time.Duration
	first              []time.Duration // from a start with many objects to the children of the new ones
	firstCPU, resident []float64       // seconds; kB for each object
	idleCPU, live      float64         // seconds for a resync of all, when there is nothing to do; kB for each object
}

// BenchmarkSideBySide has chapter 6's program and this one work for the same objects on the same server, in turns, as processes; this
// one as it comes, too. A program that sends the same writes blindly is the floor. It prints the table of the README.
func BenchmarkSideBySide(b *testing.B) {
	s := newBench(b)
	for b.Loop() {
		for range benchRounds {
			for _, p := range s.sides {
				s.round(p)
				s.latency(p)
				s.say("%s: round over", p.name)
			}
			slices.Reverse(s.sides)
		}
		for _, p := range s.sides {
			s.wire(p)
		}
		s.starts(s.many()[0])
	}
	b.ReportMetric(0, "ns/op") // the sum of different things
	slices.SortFunc(s.sides, func(a, c *side) int { return strings.Compare(order(a), order(c)) })
	fmt.Println(s.table())
}

// say tells on stderr how far the benchmark is.
func (s *sideBench) say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
}

type sideBench struct {
	*testing.B
	client     kubernetes.Interface
	databases  versioned.Interface
	kubeconfig string
	sides      []*side
	number     int // of objects in the end
}

func newBench(b *testing.B) *sideBench {
	b.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "false") // it copies and compares all stores each second
	config := testcluster.Config(b)
	testcluster.InstallDatabaseManagers(b, config)
	s := &sideBench{
		B: b, client: kubernetes.NewForConfigOrDie(config), databases: versioned.NewForConfigOrDie(config),
		kubeconfig: testcluster.Kubeconfig(b),
	}
	ours, twin := testcluster.Build(b, "./06-crd-codegen"), testcluster.Build(b, "./06-crd-codegen/controller-runtime")
	s.sides = []*side{
		{name: "chapter 6", command: []string{ours}, metrics: "--listen"},
		{name: "the twin", command: []string{twin}, metrics: "--metrics-bind-address"},
		{name: "the twin, as it comes", command: []string{twin, "--as-it-comes"}, metrics: "--metrics-bind-address"},
		{name: blind},
	}
	return s
}

// running is a program that runs.
type running struct {
	*testkit.Process
	process *process.Process
}

// start starts a program. It is in the middle of nothing when an object that is there already has its status.
func (s *sideBench) start(p *side, arguments ...string) running {
	s.Helper()
	arguments = slices.Concat(p.command[1:], []string{"--kubeconfig=" + s.kubeconfig, fmt.Sprintf("--workers=%d", benchWorkers)}, arguments)
	command := exec.Command(p.command[0], arguments...)
	command.Env = append(os.Environ(), "GODEBUG=gctrace=1") // a line for each garbage collection
	started := testkit.Start(s, command)
	return running{started, testkit.Must(process.NewProcess(int32(started.Cmd.Process.Pid)))(s)}
}

func (p running) cpu(t testing.TB) float64 {
	times := testkit.Must(p.process.Times())(t)
	return times.User + times.System
}

// seen waits until a watch from a resourceVersion on has brought a number of objects that count.
func (s *sideBench) seen(from watch.Interface, number int, counts func(object any) (name string, ok bool)) {
	s.Helper()
	defer from.Stop()
	names := map[string]bool{}
	limit := time.After(20 * time.Minute)
	for len(names) < number {
		select {
		case event, ok := <-from.ResultChan():
			if !ok {
				s.Fatal("the watch has ended")
			}
			if name, ok := counts(event.Object); ok {
				names[name] = true
			}
		case <-limit:
			s.Fatalf("%d of %d after 20 minutes", len(names), number)
		}
	}
}

func isNamed(object any) (string, bool) {
	return object.(metav1.Object).GetNamespace() + object.(metav1.Object).GetName(), true
}

func hasStatus(object any) (string, bool) {
	d := object.(*dbv1alpha1.DatabaseManager)
	return d.Namespace + d.Name, apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady) != nil
}

// both waits for the last children, and for the statuses, of a number of objects, and returns how long each took.
func (s *sideBench) both(namespace string, number int, begin func()) (children, statuses time.Duration) {
	s.Helper()
	services := testkit.Must(s.client.CoreV1().Services(namespace).Watch(s.Context(), s.now(namespace)))(s)
	databases := testkit.Must(s.databases.CoolopsV1alpha1().DatabaseManagers(namespace).Watch(s.Context(), s.now(namespace)))(s)
	start := time.Now()
	begin()
	var group sync.WaitGroup
	group.Go(func() { s.seen(services, number, isNamed); children = time.Since(start) })
	group.Go(func() { s.seen(databases, number, hasStatus); statuses = time.Since(start) })
	group.Wait()
	return children, statuses
}

// now returns options for a watch that begins now.
func (s *sideBench) now(namespace string) metav1.ListOptions {
	list := testkit.Must(s.client.CoreV1().Services(namespace).List(s.Context(), metav1.ListOptions{Limit: 1}))(s)
	return metav1.ListOptions{ResourceVersion: list.ResourceVersion}
}

// make makes DatabaseManagers without replicas: pods would measure the scheduler.
func (s *sideBench) make(namespace, prefix string, number int) []*dbv1alpha1.DatabaseManager {
	s.Helper()
	made := make([]*dbv1alpha1.DatabaseManager, number)
	s.each(number, func(i int) (err error) {
		name := fmt.Sprintf("%s-%d", prefix, i)
		made[i], err = s.databases.CoolopsV1alpha1().DatabaseManagers(namespace).Create(s.Context(), &dbv1alpha1.DatabaseManager{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: name, Replicas: new(int32(0))},
		}, metav1.CreateOptions{})
		return err
	})
	return made
}

func (s *sideBench) each(number int, do func(i int) error) {
	s.Helper()
	var group errgroup.Group
	group.SetLimit(benchWorkers)
	for i := range number {
		group.Go(func() error { return do(i) })
	}
	if err := group.Wait(); err != nil {
		s.Error(err)
	}
}

// round lets a program work for some objects. They are created while it is paused, so that this and its start do not count.
func (s *sideBench) round(p *side, arguments ...string) {
	s.Helper()
	namespace := testcluster.Namespace(s, testcluster.Config(s))
	if p.command == nil {
		made := s.make(namespace, "db", benchObjects)
		children, statuses := s.both(namespace, benchObjects, func() { s.blind(made) })
		p.children, p.statuses = p.children+children, p.statuses+statuses
		return
	}
	program := s.start(p, append(arguments, "--namespace="+namespace)...)
	s.both(namespace, 1, func() { s.make(namespace, "warm", 1) }) // the first Extract parses a schema
	program.Signal(s, syscall.SIGSTOP)
	s.make(namespace, "db", benchObjects)
	before := program.cpu(s)
	wired := len(program.Out.String())
	children, statuses := s.both(namespace, benchObjects, func() { program.Signal(s, syscall.SIGCONT) })
	cpu := program.cpu(s) - before
	s.quiet(namespace)
	wire := program.Out.String()[wired:]
	s.stop(program)
	if slices.Contains(arguments, "--wire") {
		p.requests = float64(len(requestLine.FindAllString(wire, -1))) / benchObjects
		for _, match := range bytesOf.FindAllStringSubmatch(program.Out.String()[wired:], -1) {
			number, _ := strconv.ParseFloat(match[1], 64)
			p.bytes += number / benchObjects
		}
		return
	}
	p.children, p.statuses, p.cpu = p.children+children, p.statuses+statuses, p.cpu+cpu
}

var (
	requestLine = regexp.MustCompile(`(?m)^WIRE +#\d+ (GET|POST|PUT|PATCH) `)
	bytesOf     = regexp.MustCompile(`(?m)^WIRE .*, (\d+) bytes$`)
)

// quiet waits until each DatabaseManager is Ready, and Kubernetes is through with its Deployment.
func (s *sideBench) quiet(namespace string) {
	testkit.Await(s, "all to be Ready", func() bool {
		list := testkit.Must(s.databases.CoolopsV1alpha1().DatabaseManagers(namespace).List(s.Context(), metav1.ListOptions{}))(s)
		return !slices.ContainsFunc(list.Items, func(d dbv1alpha1.DatabaseManager) bool {
			return !apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionReady)
		})
	})
}

func (s *sideBench) stop(p running) {
	s.Helper()
	p.Signal(s, syscall.SIGTERM)
	if code := p.Exit(s); code != 0 {
		s.Errorf("exit code %d", code)
	}
}

// blind sends the writes of a program, and looks at nothing.
func (s *sideBench) blind(made []*dbv1alpha1.DatabaseManager) {
	options := metav1.ApplyOptions{FieldManager: database.FieldManager, Force: true}
	s.each(len(made), func(i int) error {
		d := made[i]
		core, namespace, owners := s.client.CoreV1(), d.Namespace, database.OwnerReferences(d)
		_, err := core.Secrets(namespace).Apply(s.Context(), ssa.WithOwners(database.Secret(d, nil), owners), options)
		if err != nil {
			return err
		}
		deployment := ssa.WithOwners(database.Deployment(d, nil), owners)
		if _, err = s.client.AppsV1().Deployments(namespace).Apply(s.Context(), deployment, options); err != nil {
			return err
		}
		if _, err = core.Services(namespace).Apply(s.Context(), ssa.WithOwners(database.Service(d, nil), owners), options); err != nil {
			return err
		}
		status := database.Status(d, database.StatusOf(d, nil, rollout.Cause{}, true, nil))
		_, err = s.databases.CoolopsV1alpha1().DatabaseManagers(namespace).ApplyStatus(s.Context(), status, options)
		return err
	})
}

// wire counts a program's requests, and the bytes that it is sent.
func (s *sideBench) wire(p *side) {
	s.Helper()
	if p.command != nil {
		s.round(p, "--wire")
	}
}

// latency applies DatabaseManagers, one after the other, and measures from each answer to the Deployment's event.
func (s *sideBench) latency(p *side) {
	s.Helper()
	if p.command == nil {
		return
	}
	namespace := testcluster.Namespace(s, testcluster.Config(s))
	program := s.start(p, "--namespace="+namespace)
	defer s.stop(program)
	s.both(namespace, 1, func() { s.make(namespace, "warm", 1) })
	deployments := testkit.Must(s.client.AppsV1().Deployments(namespace).Watch(s.Context(), s.now(namespace)))(s)
	defer deployments.Stop()
	for i := range benchApplies {
		name := fmt.Sprintf("db%d", i)
		s.make(namespace, name, 1)
		start := time.Now()
		for event := range deployments.ResultChan() {
			if event.Object.(metav1.Object).GetName() == name+"-0" {
				break
			}
		}
		p.applies = append(p.applies, time.Since(start))
		s.quiet(namespace)
	}
}

// many makes many DatabaseManagers, 100 to a namespace, and lets chapter 6's program create their children. It returns the namespaces.
func (s *sideBench) many() (namespaces []string) {
	s.Helper()
	number := 10000
	s.say("making many objects")
	if text := os.Getenv("BENCH_OBJECTS"); text != "" {
		number = testkit.Must(strconv.Atoi(text))(s)
	}
	i := slices.IndexFunc(s.sides, func(p *side) bool { return p.name == "chapter 6" })
	program := s.start(s.sides[i])
	for range number / 100 {
		namespace := testcluster.Namespace(s, testcluster.Config(s))
		s.both(namespace, 100, func() { s.make(namespace, "db", 100) })
		namespaces = append(namespaces, namespace)
	}
	for _, namespace := range namespaces {
		s.quiet(namespace)
	}
	s.stop(program)
	all := testkit.Must(s.databases.CoolopsV1alpha1().DatabaseManagers(metav1.NamespaceAll).List(s.Context(), metav1.ListOptions{}))(s)
	s.number = len(all.Items) // with those of the rounds before
	return namespaces
}

// starts starts each program with many objects, of which some are new, and measures until their children are there: until then it has
// listed all, and compared most of them with what is desired, in whatever order.
func (s *sideBench) starts(namespace string) {
	s.Helper()
	for round := range benchStarts {
		for _, p := range s.sides {
			if p.command == nil {
				continue
			}
			name := fmt.Sprintf("new%d-%s", round, regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(p.name, ""))
			s.make(namespace, name, benchNew)
			var started running
			begin, address := time.Now(), freeAddress(s)
			took, _ := s.both(namespace, benchNew, func() {
				started = s.start(p, fmt.Sprintf("--resync=%v", benchResync), p.metrics+"="+address)
			})
			s.settle(started)
			if time.Since(begin) > benchResync {
				s.Fatalf("%s: a resync began before the program came to rest", p.name)
			}
			memory := testkit.Must(started.process.MemoryInfo())(s)
			p.first = append(p.first, took)
			p.firstCPU = append(p.firstCPU, started.cpu(s))
			p.resident = append(p.resident, s.forEach(float64(memory.RSS)))
			if round == benchStarts-1 {
				s.idle(p, started, address)
			}
			s.stop(started)
			s.say("%s: start %d: %v, %.2f s of CPU time", p.name, round+1, took, p.firstCPU[round])
		}
		slices.Reverse(s.sides)
	}
}

// idle measures a resync of a program that has nothing to do, and what it keeps.
func (s *sideBench) idle(p *side, started running, address string) {
	s.Helper()
	adds, before := addsAt(s, address), 0.0
	// With controller-runtime, this can take two periods: a handler that comes after the informer's list is not due yet at the
	// informer's first resync.
	err := wait.PollUntilContextTimeout(s.Context(), time.Second, 3*benchResync, true, func(context.Context) (bool, error) {
		cpu, now := started.cpu(s), addsAt(s, address)
		if now == adds {
			before = cpu
		}
		return now >= adds+float64(s.number), nil
	})
	if err != nil {
		s.Fatalf("%s: no resync: %v", p.name, err)
	}
	s.settle(started)
	p.idleCPU = started.cpu(s) - before
	// Go collects garbage when it has not done so for two minutes. What is left is in use.
	from := len(started.Err.String())
	testkit.Await(s, "a garbage collection at rest", func() bool {
		match := collection.FindStringSubmatch(started.Err.String()[from:])
		if match != nil {
			p.live = s.forEach(float64(testkit.Must(strconv.Atoi(match[1]))(s) << 20))
		}
		return match != nil
	})
}

var collection = regexp.MustCompile(`(?m)^gc .*->(\d+) MB, `)

// forEach returns kB for each object.
func (s *sideBench) forEach(bytes float64) float64 { return bytes / 1000 / float64(s.number) }

var addsTotal = regexp.MustCompile(`(?m)^workqueue_adds_total[{].*[}] (.*)$`)

// addsAt returns how many keys were added to a program's queues, by the metrics at an address.
func addsAt(t testing.TB, address string) (adds float64) {
	t.Helper()
	response := testkit.Must(http.Get("http://" + address + "/metrics"))(t)
	defer response.Body.Close()
	for _, match := range addsTotal.FindAllStringSubmatch(string(testkit.Must(io.ReadAll(response.Body))(t)), -1) {
		adds += testkit.Must(strconv.ParseFloat(match[1], 64))(t)
	}
	return adds
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	return listener.Addr().String()
}

// settle waits until a program has used no more than 10 ms of CPU time in a second.
func (s *sideBench) settle(p running) {
	s.Helper()
	last := p.cpu(s)
	err := wait.PollUntilContextTimeout(s.Context(), time.Second, 5*time.Minute, false, func(context.Context) (bool, error) {
		now := p.cpu(s)
		defer func() { last = now }()
		return now-last <= 0.01, nil
	})
	if err != nil {
		s.Fatalf("the program does not come to rest: %v", err)
	}
}

// row is one of the table: a figure of each program, in a unit.
type row struct {
	what, format string
	value        func(*side) float64
	blind        bool // the blind writes have it, too
}

func (s *sideBench) rows() []row {
	all := fmt.Sprintf("%d objects: all ", benchRounds*benchObjects)
	return []row{
		{all + "children", "%.2f s", func(p *side) float64 { return p.children.Seconds() }, true},
		{all + "statuses", "%.2f s", func(p *side) float64 { return p.statuses.Seconds() }, true},
		{"CPU time for them", "%.2f s", func(p *side) float64 { return p.cpu }, false},
		{"requests for each object, until it is Ready", "%.1f", func(p *side) float64 { return p.requests }, false},
		{"bytes received for each", "%.0f", func(p *side) float64 { return p.bytes }, false},
		{"from an apply to the Deployment: p50", "%.1f ms", func(p *side) float64 { return p.at(50) }, false},
		{"p99", "%.1f ms", func(p *side) float64 { return p.at(99) }, false},
		{fmt.Sprintf("start with %d objects, until %d new ones have their children", s.number, benchNew), "%.2f s",
			func(p *side) float64 { return median(p.first).Seconds() }, false},
		{"CPU time until all are compared", "%.2f s", func(p *side) float64 { return median(p.firstCPU) }, false},
		{"resident memory then, for each of them", "%.1f kB", func(p *side) float64 { return median(p.resident) }, false},
		{"memory in use, for each of them", "%.1f kB", func(p *side) float64 { return p.live }, false},
		{"CPU time for a resync of all, with nothing to do", "%.2f s", func(p *side) float64 { return p.idleCPU }, false},
	}
}

// table returns the README's table.
func (s *sideBench) table() string {
	var text bytes.Buffer
	line := func(what string, cell func(*side) string) {
		fmt.Fprintf(&text, "| %s |", what)
		for _, p := range s.sides {
			fmt.Fprintf(&text, " %s |", cell(p))
		}
		fmt.Fprintln(&text)
	}
	line("what", func(p *side) string { return p.name })
	line("---", func(*side) string { return "---" })
	for _, r := range s.rows() {
		line(r.what, func(p *side) string {
			if p.command == nil && !r.blind {
				return ""
			}
			return fmt.Sprintf(r.format, r.value(p))
		})
	}
	return text.String()
}

func order(p *side) string { return map[bool]string{true: "1", false: "0"}[p.command == nil] + p.name }

func median[T cmp.Ordered](values []T) T { return slices.Sorted(slices.Values(values))[len(values)/2] }

// at returns a percentile in milliseconds.
func (p *side) at(percent int) float64 {
	return float64(slices.Sorted(slices.Values(p.applies))[len(p.applies)*percent/100].Microseconds()) / 1000
}
