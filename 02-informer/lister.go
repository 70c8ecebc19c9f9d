// lister.go: the lister, which reads the store without a request.
// Before: handler.go. Next: watcherror.go.

package main

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"

	"example.com/client-go-workbook/internal/program"
)

// printDeployment prints whether the store has the Deployment. The answer is as old as the store is.
func printDeployment(out *program.Printer, deployments appslisters.DeploymentLister, o options) {
	namespace := o.namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	deployment, err := deployments.Deployments(namespace).Get(o.name)
	switch {
	case apierrors.IsNotFound(err): // the same error as from the server's 404, but the lister creates it
		out.Line("LISTER", "not found")
	case err != nil:
		out.Line("LISTER", "%v", err)
	default:
		out.Line("LISTER", "name: %s", deployment.Name)
	}
}
