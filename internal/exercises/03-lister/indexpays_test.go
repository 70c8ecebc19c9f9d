package lister_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
	answers "example.com/client-go-workbook/internal/exercises/03-lister/answers/07-index-pays"
	starter "example.com/client-go-workbook/internal/exercises/03-lister/answers/07-index-pays/starter"
)

func TestIndexPays(t *testing.T) {
	e := graders.IndexPays
	e.RejectsStarter(t, graders.IndexPaysAnswer{AddIndex: starter.AddIndex, Find: starter.Find})
	e.Accepts(t, graders.IndexPaysAnswer{AddIndex: answers.AddIndex, Find: answers.Find},
		graders.IndexPaysAnswer{AddIndex: answers.IndexAllLabels, Find: answers.FindByLabel})
	e.Rejects(t, "filters what one index finds", answers.FiltersWhatOneIndexFinds, "objects or keys for 100 answers")
	e.Rejects(t, "adds an index at each question", answers.AddsAnIndexAtEachQuestion, "100 more after 100 questions")
	e.Rejects(t, "joins without a separator", answers.JoinsWithoutASeparator, "can it mean two pairs")
	e.Rejects(t, "keeps a copy of its own", answers.KeepsACopyOfItsOwn, "after pod")
	e.Rejects(t, "asks the store that got the index last", answers.AsksTheStoreThatGotTheIndexLast, "another store")
	e.Rejects(t, "scans", answers.Scans, "objects or keys for 100 answers")
	e.Rejects(t, "makes all letters small", answers.MakesAllLettersSmall, "can it mean two pairs")
	e.Rejects(t, "takes another label", answers.TakesAnotherLabel, "no other label")
	e.Rejects(t, "looks in both orders", answers.LooksInBothOrders, `for node "crowd" and app "web"`)
	e.Rejects(t, "sorts by namespace and name", answers.SortsByNamespaceAndName, "shop-2/a is before shop/a")
}
