package main

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	listers "k8s.io/client-go/listers/apps/v1"
)

// look asks the lister for the Deployment. It reads the store: no request is made, and the answer is as old as
// the store is.
func (c chapter) look(deployments listers.DeploymentLister) {
	namespace := c.namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	deployment, err := deployments.Deployments(namespace).Get(c.name)
	switch {
	case apierrors.IsNotFound(err): // the same error that the server's 404 makes, but made here
		c.out.Line("LISTER", "not found")
	case err != nil:
		c.out.Line("LISTER", "%v", err)
	default:
		c.out.Line("LISTER", "name: %s", deployment.Name)
	}
}
