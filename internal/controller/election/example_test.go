package election

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// Example_fence sends two writes through a fence: 9 and 11 seconds after the Lease was renewed for the last time.
func Example_fence() {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fmt.Println("  the server gets it") }))
	defer server.Close()
	f := &fence{window: 10 * time.Second, lost: func() { fmt.Println("  the process ends") }}
	client := http.Client{Transport: f.wrap(http.DefaultTransport)}
	for _, ago := range []time.Duration{9 * time.Second, 11 * time.Second} {
		fmt.Println("a write", ago, "after the last renewal")
		f.renewed = time.Now().Add(-ago)
		response, err := client.Post(server.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			fmt.Println(" ", errors.Unwrap(err))
			continue
		}
		response.Body.Close()
	}
	// Output:
	// a write 9s after the last renewal
	//   the server gets it
	// a write 11s after the last renewal
	//   the process ends
	//   not sent: this process is not the leader
}
