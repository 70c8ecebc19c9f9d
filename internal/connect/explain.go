package connect

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"example.com/client-go-workbook/internal/netfault"
)

// Explain returns err in one line that names the thing and says what to do next.
// An error that it has nothing to say about comes back with its own words.
func Explain(err error) string {
	server := "the server"
	var request *url.Error
	if errors.As(err, &request) {
		if address, parseErr := url.Parse(request.URL); parseErr == nil {
			server = address.Host
		}
	}
	var (
		certificate x509.CertificateInvalidError
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		dns         *net.DNSError
		noResource  *apimeta.NoResourceMatchError
		noKind      *apimeta.NoKindMatchError
		proxy       *net.OpError
	)
	cut := netfault.CutBy(err)
	switch {
	case errors.As(err, &proxy) && proxy.Op == "proxyconnect":
		return fmt.Sprintf("the proxy on the way to %s: %v: check HTTPS_PROXY, NO_PROXY, and proxy-url in the kubeconfig",
			server, proxy.Err)
	case utilnet.IsConnectionRefused(err) && cut != "":
		return fmt.Sprintf("%s refuses connections, because of %s", server, cut)
	case utilnet.IsConnectionRefused(err):
		return fmt.Sprintf("%s refuses connections: nothing listens there; `make cluster` starts the workbook's cluster", server)
	case cut != "":
		return fmt.Sprintf("no route to %s, because of %s", server, cut)
	case errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH):
		return fmt.Sprintf("no route to %s: check the network", server)
	case errors.As(err, &certificate) && certificate.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of %s has expired or is not valid yet: "+
			"check this machine's clock, or make a new cluster with `make cluster-down cluster`", server)
	case errors.As(err, &authority):
		return fmt.Sprintf("the certificate of %s is signed by an authority that the kubeconfig does not know: "+
			"name that cluster's own with --kubeconfig, or write the workbook's anew with `make cluster`", server)
	case errors.As(err, &hostname):
		return fmt.Sprintf("the certificate of %s is for other names: %s; use one of them in the kubeconfig's server field",
			server, oneLine(hostname))
	case errors.As(err, &dns):
		return fmt.Sprintf("no address for %s: check the kubeconfig's server field, or the network", dns.Name)
	case IsConnectionLost(err):
		return fmt.Sprintf("the connection to the server is lost: %s", lostConnection(err))
	case apierrors.IsUnauthorized(err):
		return "unauthorized: the server does not accept the user's credentials: correct them, or choose another user with --context; " +
			"if it is the workbook's own, `make cluster` writes fresh ones"
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot "): // the authorizer's word; admission forbids, too
		return fmt.Sprintf("%s: this needs a Role or ClusterRole with that verb and resource, bound to the user", oneLine(err))
	case errors.As(err, &noResource):
		return fmt.Sprintf("the server has no resource %q: install its CRD, or look for the name in `scripts/kubectl api-resources`",
			noResource.PartialResource.GroupResource())
	case errors.As(err, &noKind):
		return fmt.Sprintf("the server has no kind %q: install its CRD, or look for the name in `scripts/kubectl api-resources`",
			noKind.GroupKind)
	case isUnknownPath(err):
		return "the server does not know this resource: install its CRD, or look for the name in `scripts/kubectl api-resources`"
	case errors.Is(err, context.DeadlineExceeded) || utilnet.IsTimeout(err):
		return fmt.Sprintf("%s does not answer: see `make cluster-status`", server)
	}
	return oneLine(err)
}

// lostWatch matches what net, net/http and crypto/tls report when they cannot read on.
var lostWatch = regexp.MustCompile(`^(http2: |stream error: |connection error: |read (tcp|unix) |tls: |(local|remote) error: tls: )`)

// IsConnectionLost reports whether a watch's event of type ERROR stands for a connection that broke. Most of them just
// close the watch's channel. For one that client-go does not know, such as an HTTP/2 ping without an answer, it
// makes the same Status as for an event that it cannot decode: only the message is different.
func IsConnectionLost(err error) bool {
	return lostConnection(err) != ""
}

// lostConnection returns how the connection of a watch broke, or "" if err is something else.
func lostConnection(err error) string {
	cause, _ := apierrors.StatusCause(err, "ClientWatchDecoding")
	how, ok := strings.CutPrefix(cause.Message, "unable to decode an event from the watch stream: ")
	if !ok || !lostWatch.MatchString(how) {
		return ""
	}
	return how
}

// isUnknownPath reports whether a 404 is for a whole resource (no such API), and not for an object (no such name).
func isUnknownPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, "UnexpectedServerResponse")
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
