package lister_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
	answers "example.com/client-go-workbook/internal/exercises/03-lister/answers/06-and-or"
	starter "example.com/client-go-workbook/internal/exercises/03-lister/answers/06-and-or/starter"
)

func TestAndOr(t *testing.T) {
	e := graders.AndOr
	e.RejectsStarter(t, graders.AndOrAnswer{And: starter.And, Or: starter.Or})
	e.Accepts(t, graders.AndOrAnswer{And: answers.And, Or: answers.Or},
		graders.AndOrAnswer{And: answers.FindByImageFirst, Or: answers.JoinASet})
	e.Rejects(t, "intersects two sets of keys", answers.IntersectsTwoSetsOfKeys, "shop/moves")
	e.Rejects(t, "intersects two sets of objects", answers.IntersectsTwoSetsOfObjects, "without shop/stays")
	e.Rejects(t, "joins two lists", answers.JoinsTwoLists, "twice")
	e.Rejects(t, "takes a pointer for a pod", answers.TakesAPointerForAPod, "shop/stays twice")
	e.Rejects(t, "scans", answers.Scans, "1000 objects")
	e.Rejects(t, "looks for a part of the image", answers.LooksForAPartOfTheImage, "with bank/similar")
	e.Rejects(t, "reads each pod again", answers.ReadsEachPodAgain, "interface conversion")
	e.Rejects(t, "ignores the error", answers.IgnoresTheError, "while lookup 1 fails")
}
