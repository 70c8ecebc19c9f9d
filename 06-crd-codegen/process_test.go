package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/client-go-workbook/internal/controller/election"
	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testkit"
)

// Some tests run the controller as a process of its own, to kill it. That process is the test binary, with these variables
// in its environment.
const (
	namespaceVar  = "WORKBOOK_TEST_NAMESPACE"
	kubeconfigVar = "WORKBOOK_TEST_KUBECONFIG"
	leaderVar     = "WORKBOOK_TEST_LEADER_ELECT"
	leaseVar      = "WORKBOOK_TEST_LEASE"  // its duration
	cutVar        = "WORKBOOK_TEST_CUT"    // the time between two cuts of all connections
	listenVar     = "WORKBOOK_TEST_LISTEN" // the address of /metrics
	writesVar     = "WORKBOOK_TEST_WRITES" // a file that gets a line for each write
	lostVar       = "WORKBOOK_TEST_LOST"   // the share of the writes whose answer is lost
)

func TestMain(m *testing.M) {
	testkit.Main(main)
	if os.Getenv(namespaceVar) != "" {
		if err := runController(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// The second handler sleeps if the last error was less than a millisecond ago. After an error in a test with today's
	// clock, that is 26 years for one in a synctest bubble, which begins in the year 2000.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	// The tests mostly wait for the server, so four at a time end sooner than two.
	_ = flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0))))
	code := m.Run()
	if err := lackedPermissions(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// startProcess starts a controller for the namespace in a process of its own.
func (e *env) startProcess(kubeconfig string, variables ...string) *testkit.Process {
	e.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(variables, namespaceVar+"="+e.namespace, kubeconfigVar+"="+kubeconfig)...)
	return testkit.Start(e, cmd)
}

// leads reports whether a process has become the leader.
func leads(p *testkit.Process) bool { return strings.Contains(p.Out.String(), "this process") }

func runController() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(kubeconfigVar))
	if err != nil {
		return err
	}
	config.QPS = -1
	o := options{
		namespace: os.Getenv(namespaceVar), workers: 2, drainFor: time.Second,
		election: election.Options{Enabled: os.Getenv(leaderVar) != "", LeaseDuration: 10 * time.Second}, // long enough for a busy machine
	}
	if lease, err := time.ParseDuration(os.Getenv(leaseVar)); err == nil {
		o.election.LeaseDuration = lease
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if every, err := time.ParseDuration(os.Getenv(cutVar)); err == nil {
		cuts := netfault.Cutter{After: every, For: 500 * time.Millisecond, Times: 1 << 30}
		config.Dial = cuts.Dial
		go cuts.Run(ctx, io.Discard)
	}
	if name := os.Getenv(writesVar); name != "" {
		file, err := os.Create(name)
		if err != nil {
			return err
		}
		defer file.Close()
		config = keepWrites(file, config)
	}
	if share, err := strconv.ParseFloat(os.Getenv(lostVar), 64); err == nil {
		config = loseAnswers(config, share)
	}
	if address := os.Getenv(listenVar); address != "" {
		if o.server.Listener, err = net.Listen("tcp", address); err != nil {
			return err
		}
	}
	return run(ctx, config, o, program.NewPrinter(os.Stdout))
}

// loseAnswers has the answers to a share of the writes lost, after the server has done them. Not those about the Lease and events.
func loseAnswers(config *rest.Config, share float64) *rest.Config {
	return testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		other := strings.Contains(request.URL.Path, "/leases") || strings.Contains(request.URL.Path, "/events")
		if err != nil || other || request.Method == http.MethodGet || rand.Float64() >= share {
			return response, err
		}
		response.Body.Close()
		if rand.IntN(3) == 0 {
			return nil, syscall.ECONNRESET
		}
		code := []int{http.StatusInternalServerError, http.StatusGatewayTimeout}[rand.IntN(2)]
		return &http.Response{StatusCode: code, Body: http.NoBody, Request: request}, nil
	})
}
