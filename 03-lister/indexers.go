package main

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
)

// The names of our indexes. cache.NamespaceIndex is there anyway, in each informer of a factory.
const (
	nodeIndex  = "node"
	imageIndex = "image"
	ownerIndex = "owner"
)

// podIndexers are our indexes' functions.
//
// An index function names the values that an object is to be found under: one, several, or none. The store calls
// it when an object comes, and once more with the same object when it changes or goes, to find the entries that
// it must take out again. So it depends on nothing but the object. And it never returns an error: the store has
// nobody to hand it to, and panics. What it can't find a value for, it leaves out of the index.
var podIndexers = coreinformers.PodIndexers{
	nodeIndex:  byNode,
	imageIndex: byImage,
	ownerIndex: byOwner,
}

func byNode(pod *corev1.Pod) ([]string, error) {
	if pod.Spec.NodeName == "" {
		return nil, nil // it waits for the scheduler
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

// byOwner finds a pod under the UIDs of its owners. Not under their names: who is deleted and made again under the
// same name is another owner.
func byOwner(pod *corev1.Pod) ([]string, error) {
	var owners []string
	for _, reference := range pod.OwnerReferences {
		owners = append(owners, string(reference.UID))
	}
	return owners, nil
}
