package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/08-finalizer"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/08-finalizer/starter"
)

func TestFinalizer(t *testing.T) {
	e := graders.Finalizer
	e.RejectsStarter(t, starter.Sync)
	e.Accepts(t, answers.Sync, answers.AppliesTheFinalizer)
	e.Rejects(t, "removes the finalizer first", answers.RemovesTheFinalizerFirst, "while the bucket is being removed")
	e.Rejects(t, "patches the whole list", answers.PatchesTheWholeList, "added between your read and your write")
	e.Rejects(t, "adds while deleting", answers.AddsWhileDeleting, "no new finalizers can be added")
	e.Rejects(t, "removes the finalizer when create fails", answers.RemovesTheFinalizerWhenCreateFails,
		"the finalizer stays when the bucket cannot be created")
	e.Rejects(t, "removes the finalizer when create has found nothing", answers.RemovesTheFinalizerWhenCreateHasFoundNothing,
		"the finalizer stays when the bucket cannot be created: a NotFound")
	e.Rejects(t, "takes each NotFound for a ConfigMap that is gone", answers.TakesEachNotFoundForAConfigMapThatIsGone,
		"the bucket cannot be created: a NotFound")
	e.Rejects(t, "takes a bucket that is not found for gone", answers.TakesABucketThatIsNotFoundForGone,
		"the bucket cannot be removed: a NotFound")
	e.Rejects(t, "removes the finalizer by its index", answers.RemovesTheFinalizerByItsIndex,
		"when another one went between your read and your write")
	e.Rejects(t, "removes the bucket after the end, too", answers.RemovesTheBucketAfterTheEndToo,
		"ctx has ended, and that of remove has not")
	e.Rejects(t, "creates the bucket for a minute", answers.CreatesTheBucketForAMinute, "ctx has ended, and that of create has not")
	e.Rejects(t, "hides that ctx has ended", answers.HidesThatCtxHasEnded, "the bucket cannot be created: ctx ends")
}
