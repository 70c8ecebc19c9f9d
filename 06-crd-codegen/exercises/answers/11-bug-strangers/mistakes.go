package exercise

// LeavesTheServiceAsItWas corrects the selector of the Deployment only.
var LeavesTheServiceAsItWas = Answer{NewDeployment, with(labelsOf, dbtypeOf).NewService}

// SetsALabelOfThePodsOnly has a label that no selector asks for.
var SetsALabelOfThePodsOnly = with(labelsOf, dbtypeOf)

// SetsALabelOfTheSelectorOnly has a selector that asks for a label which no pod has.
var SetsALabelOfTheSelectorOnly = with(dbtypeOf, selectorOf)

// AddsTheSameLabelToAll adds a label that all pods have.
var AddsTheSameLabelToAll = with(managed, managed)

func managed(d *database) map[string]string {
	return map[string]string{"app": string(d.Spec.Dbtype), "managed-by": "database-manager"}
}

// ReplacesTheLabelApp takes a label away that others select by.
var ReplacesTheLabelApp = with(selectorOf, selectorOf)

func dbtypeOf(d *database) map[string]string { return map[string]string{"app": string(d.Spec.Dbtype)} }
