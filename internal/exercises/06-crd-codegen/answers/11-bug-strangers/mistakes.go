package exercise

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
)

// with returns the solution with other labels and selectors.
func with(labelsOf, selectorOf func(d *database) map[string]string) graders.BugStrangersAnswer {
	return graders.BugStrangersAnswer{
		NewDeployment: func(d *database) *appsv1.Deployment { return deploymentWith(d, labelsOf, selectorOf) },
		NewService:    func(d *database) *corev1.Service { return serviceWith(d, labelsOf, selectorOf) },
	}
}

// LeavesTheServiceAsItWas corrects the selector of the Deployment only.
var LeavesTheServiceAsItWas = graders.BugStrangersAnswer{NewDeployment: NewDeployment, NewService: with(labelsOf, dbtypeOf).NewService}

// SetsALabelOfThePodsOnly has a label that no selector asks for.
var SetsALabelOfThePodsOnly = with(labelsOf, dbtypeOf)

// SetsALabelOfTheSelectorOnly has a selector that asks for a label which no pod has.
var SetsALabelOfTheSelectorOnly = with(dbtypeOf, selectorOf)

// AddsTheSameLabelToAll adds a label that all pods have.
var AddsTheSameLabelToAll = with(managed, managed)

func managed(d *database) map[string]string {
	return map[string]string{"app": string(d.Spec.Dbtype), "managed-by": "database-manager"}
}

// SelectsByTheName also selects what an object of the same name has left behind.
var SelectsByTheName = with(nameOf, nameOf)

func nameOf(d *database) map[string]string {
	return map[string]string{"app": string(d.Spec.Dbtype), "instance": d.Name}
}

// SelectsByAPartOfTheUID takes eight characters for enough.
var SelectsByAPartOfTheUID = with(partOf, partOf)

func partOf(d *database) map[string]string {
	return map[string]string{"app": string(d.Spec.Dbtype), "instance": string(d.UID[:8])}
}

// SelectsByTheNamesAndTheTime also selects what an object with the same names has left behind that was created in the same second.
var SelectsByTheNamesAndTheTime = with(timeOf, timeOf)

func timeOf(d *database) map[string]string {
	return map[string]string{
		"app": string(d.Spec.Dbtype), "instance": d.Spec.DeploymentName, "created": fmt.Sprint(d.CreationTimestamp.Unix()),
	}
}

// AddsTheNameToTheUID has a label that is too long for the API server if the name is long.
var AddsTheNameToTheUID = with(nameAndUIDOf, nameAndUIDOf)

func nameAndUIDOf(d *database) map[string]string {
	return map[string]string{"app": string(d.Spec.Dbtype), "instance": fmt.Sprintf("%s-%s", d.Name, d.UID)}
}

// ReplacesTheLabelApp takes a label away that others select by.
var ReplacesTheLabelApp = with(selectorOf, selectorOf)

func dbtypeOf(d *database) map[string]string { return map[string]string{"app": string(d.Spec.Dbtype)} }
