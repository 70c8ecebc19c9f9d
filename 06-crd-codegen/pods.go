package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/podcause"
)

// A Deployment's status counts its pods, and does not contain why they are not ready: the image cannot be pulled, the
// server crashes, no node has room. That is in the pods. So the controller watches them, too.

// watchPods keeps of each pod only what the status needs: whole pods would be the largest part of the stores. Most events
// of pods change nothing of that, and enqueue nothing.
func (c *Controller) watchPods(informer cache.TypedSharedIndexInformer[*corev1.Pod], databases cache.TypedIndexer[*dbv1alpha1.DatabaseManager]) error {
	if err := informer.SetTransform(podcause.Keep); err != nil {
		return err
	}
	if err := informer.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{
		byUID: func(pod *corev1.Pod) ([]string, error) { return []string{pod.Labels[databaseLabel]}, nil },
	}); err != nil {
		return err
	}
	c.pods = informer.GetTypedIndexer()
	changed := func(before, pod *corev1.Pod) {
		if podcause.Of([]*corev1.Pod{before}) == podcause.Of([]*corev1.Pod{pod}) {
			return
		}
		owners, err := databases.ByTypedIndex(byUID, pod.Labels[databaseLabel])
		if err != nil {
			panic(err) // there is no such index
		}
		for _, d := range owners {
			c.queue.Add(cache.MetaObjectToName(d))
		}
	}
	return addHandler(c, informer, cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod) { changed(&corev1.Pod{}, pod) },
		UpdateFunc: changed,
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			if deleted.OptionalObj != nil {
				changed(&corev1.Pod{}, deleted.OptionalObj)
			}
		},
	})
}

// podCause returns why the pods of a DatabaseManager are not ready, if they know.
func (c *Controller) podCause(d *dbv1alpha1.DatabaseManager) podcause.Cause {
	pods, err := c.pods.ByTypedIndex(byUID, string(d.UID))
	if err != nil {
		panic(err) // there is no such index
	}
	return podcause.Of(pods)
}
