// indexers.go: the index functions, which say under which values a pod is found.
// Before: watcherror.go. Next: query.go.

package main

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
)

// podIndexers are the index functions by the names of their indexes.
//
// An index function returns the values under which an object is found: one, several or none. The store calls it when an
// object arrives, and calls it again with the same object when that is replaced or deleted, to find the entries to remove.
// So the result must depend on the object alone. The function must not return an error: the store cannot pass it on, and
// panics. An object without a value stays out of the index.
var podIndexers = coreinformers.PodIndexers{
	nodeIndex:  byNode,
	imageIndex: byImage,
	ownerIndex: byOwner,
}

// The names of the indexes. Each informer of a factory also has cache.NamespaceIndex.
const (
	nodeIndex  = "node"
	imageIndex = "image"
	ownerIndex = "owner"
)

func byNode(pod *corev1.Pod) ([]string, error) {
	if pod.Spec.NodeName == "" {
		return nil, nil // it is not scheduled yet
	}
	return []string{pod.Spec.NodeName}, nil
}

// byImage finds a pod under the images of all its containers, each with its tag and without.
func byImage(pod *corev1.Pod) ([]string, error) {
	var images []string
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		images = append(images, container.Image, repository(container.Image))
	}
	return images, nil
}

// repository returns an image's name without tag and digest: registry:5000/nginx for registry:5000/nginx:1.28.0.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		return image[:colon]
	}
	return image
}

// byOwner finds a pod under the UIDs of its owners. Names would be wrong: an owner that was deleted and created again has
// the same name, but is another owner.
func byOwner(pod *corev1.Pod) ([]string, error) {
	var owners []string
	for _, reference := range pod.OwnerReferences {
		owners = append(owners, string(reference.UID))
	}
	return owners, nil
}
