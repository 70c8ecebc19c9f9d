package lister_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
	answers "example.com/client-go-workbook/internal/exercises/03-lister/answers/03-node-index"
	starter "example.com/client-go-workbook/internal/exercises/03-lister/answers/03-node-index/starter"
)

func TestNodeIndex(t *testing.T) {
	e := graders.NodeIndex
	e.RejectsStarter(t, graders.NodeIndexAnswer{AddIndex: starter.AddIndex, PodsOn: starter.PodsOn})
	e.Accepts(t, graders.NodeIndexAnswer{AddIndex: answers.AddIndex, PodsOn: answers.PodsOn},
		graders.NodeIndexAnswer{AddIndex: answers.AddUntypedIndex, PodsOn: answers.SortKeysOfObjects})
	e.Rejects(t, "fails for a pod without a node", answers.FailsForAPodWithoutANode, "the store panicked")
	e.Rejects(t, "scans", answers.Scans, "1000 objects")
	e.Rejects(t, "keeps a copy of its own", answers.KeepsACopyOfItsOwn, "after pod")
	e.Rejects(t, "asks the store that got the index last", answers.AsksTheStoreThatGotTheIndexLast, "another store")
	e.Rejects(t, "leaves out what has ended", answers.LeavesOutWhatHasEnded, "which is on the node")
	e.Rejects(t, "sorts by namespace and name", answers.SortsByNamespaceAndName, "in another order")
	e.Rejects(t, "takes the nominated node", answers.TakesTheNominatedNode, "which has no node yet")
	e.Rejects(t, "adds the index when asked", answers.AddsTheIndexWhenAsked, "it has no such index")
}
