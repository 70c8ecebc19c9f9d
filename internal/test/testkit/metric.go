package testkit

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Metric returns the value of a metric at a program's /metrics, such as workqueue_depth{name="pods"}.
func Metric(t testing.TB, url, name string) int {
	t.Helper()
	response := Must(http.Get(url + "/metrics"))(t)
	defer response.Body.Close()
	body := string(Must(io.ReadAll(response.Body))(t))
	_, after, found := strings.Cut("\n"+body, "\n"+name+" ")
	if !found {
		t.Fatalf("no metric %s in:\n%s", name, body)
	}
	value, _, _ := strings.Cut(after, "\n")
	return int(Must(strconv.ParseFloat(value, 64))(t))
}
