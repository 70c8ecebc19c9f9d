package testcluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"example.com/client-go-workbook/internal/connect"
)

// ErrOtherCluster is returned by [Audit] with the test flag -context.
var ErrOtherCluster = errors.New("the permissions are not compared: only the workbook's own cluster has an audit log that tests can read")

// Usage is the permissions that ServiceAccounts used, and those that they lacked. Each is a verb and a resource, such as
// "patch deployments.apps".
type Usage struct{ used, refused map[string]bool }

// Audit returns the usage of the ServiceAccounts with that name in these namespaces, by the API server's audit log. No
// request is missing there: the server writes the line before the client has the answer.
func Audit(account string, namespaces ...string) (Usage, error) {
	u := Usage{map[string]bool{}, map[string]bool{}}
	log, err := auditLog()
	if err != nil {
		return u, err
	}
	users := map[string]bool{}
	for _, namespace := range namespaces {
		users[username(namespace, account)] = true
	}
	for line := range bytes.Lines(log) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return u, fmt.Errorf("the audit log has the line %q: %w", line, err)
		}
		if users[e.User.Username] {
			u.add(e)
		}
	}
	return u, nil
}

// Compare returns the permissions that were needed but are not in the rules, or were refused, and those in the rules that no
// request needed.
func (u Usage) Compare(rules []rbacv1.PolicyRule) (missing, unused []string) {
	lacked, left := maps.Clone(u.refused), map[string]bool{}
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					left[permission(verb, resource, group)] = true
				}
			}
			for _, url := range rule.NonResourceURLs {
				left[verb+" "+url] = true
			}
		}
	}
	for permission := range u.used {
		if !left[permission] {
			lacked[permission] = true // by another role, it was allowed
		}
		delete(left, permission)
	}
	// Every chapter checks that the namespace exists, and goes on if it has no permission to do so.
	delete(lacked, "get namespaces")
	return slices.Sorted(maps.Keys(lacked)), slices.Sorted(maps.Keys(left))
}

// auditLog returns the audit log of the cluster that tests share.
func auditLog() ([]byte, error) {
	if *contextFlag != "" {
		return nil, ErrOtherCluster
	}
	command := exec.Command(filepath.Join(filepath.Dir(connect.FindUpwards("go.mod")), "scripts", "cluster.sh"), "audit")
	command.Env = append(os.Environ(), "CLUSTER_DIR="+filepath.Dir(connect.Workbooks()))
	output, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("reading the audit log: %s", bytes.TrimSpace(exit.Stderr))
	}
	return output, err
}

// event is a line of the audit log: an Event of audit.k8s.io/v1.
type event struct {
	Verb           string
	User           struct{ Username string }
	ObjectRef      *struct{ Resource, Subresource, APIGroup string } // nil for a request that is about no resource
	ResponseStatus struct {
		Code    int
		Message string
	}
	Annotations map[string]string
}

// add adds what a request used or lacked. The server authorizes each request by one verb: an informer that gets its list as
// the beginning of a watch needs watch alone. For an apply that verb is patch, and create as well if there is no such
// object. The log does not show that create was checked. It shows what came of it: 201, or 403 and a message.
func (u Usage) add(e event) {
	if e.ObjectRef == nil {
		return // such as /apis, which every user is allowed to read
	}
	resource, group := e.ObjectRef.Resource, e.ObjectRef.APIGroup
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	if e.Annotations["authorization.k8s.io/decision"] != "allow" {
		u.refused[permission(e.Verb, resource, group)] = true
		return
	}
	u.used[permission(e.Verb, resource, group)] = true
	switch status := e.ResponseStatus; {
	case e.Verb == "patch" && status.Code == http.StatusCreated:
		u.used[permission("create", resource, group)] = true
	case e.Verb == "patch" && status.Code == http.StatusForbidden && strings.Contains(status.Message, " cannot create resource "):
		u.refused[permission("create", resource, group)] = true
	}
}

func permission(verb, resource, group string) string {
	if group != "" {
		resource += "." + group
	}
	return verb + " " + resource
}
