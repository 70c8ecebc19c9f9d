package lister_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
	answers "example.com/client-go-workbook/internal/exercises/03-lister/answers/04-many-values"
	starter "example.com/client-go-workbook/internal/exercises/03-lister/answers/04-many-values/starter"
)

func TestManyValues(t *testing.T) {
	e := graders.ManyValues
	e.RejectsStarter(t, starter.ByConfigMap)
	e.Accepts(t, answers.ByConfigMap, answers.CollectsASet)
	e.Rejects(t, "returns the first value only", answers.ReturnsTheFirstValueOnly, "uses it in")
	e.Rejects(t, "leaves the namespace out", answers.LeavesTheNamespaceOut, "the pod is under \"settings-")
	e.Rejects(t, "joins the values", answers.JoinsTheValues, ",bank/settings-")
	e.Rejects(t, "fails for a pod without ConfigMaps", answers.FailsForAPodWithoutConfigMaps, "uses no ConfigMap")
	e.Rejects(t, "returns early without volumes", answers.ReturnsEarlyWithoutVolumes, "'s envFrom")
	e.Rejects(t, "appends to a slice of the store", answers.AppendsToASliceOfTheStore, "into the array of a []v1.Container")
}
