package main

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// BenchmarkBookmarks watches the ConfigMaps of a namespace, creates one there, and then 50 objects that the watch does
// not show. In one variant somebody then lists the ConfigMaps of another namespace. The benchmark reports how far the next
// bookmark is after the watch's last event, after the last write of a ConfigMap anywhere, and behind the cluster's newest
// write, counted in resourceVersions.
//
// The server sends a bookmark 2 seconds before a watch ends, so a short watch need not wait a minute for one.
func BenchmarkBookmarks(b *testing.B) {
	config := testcluster.Config(b)
	core := kubernetes.NewForConfigOrDie(config).CoreV1()
	watched, other := testcluster.Namespace(b, config), testcluster.Namespace(b, config)
	number := 0
	meta := func() metav1.ObjectMeta {
		number++
		return metav1.ObjectMeta{Name: fmt.Sprintf("object-%d", number)}
	}
	createConfigMap := func(namespace string) int {
		object := &corev1.ConfigMap{ObjectMeta: meta()}
		return version(b, testkit.Must(core.ConfigMaps(namespace).Create(b.Context(), object, metav1.CreateOptions{}))(b).ResourceVersion)
	}
	createSecret := func() {
		testkit.Must(core.Secrets(other).Create(b.Context(), &corev1.Secret{ObjectMeta: meta()}, metav1.CreateOptions{}))(b)
	}

	for _, others := range []string{"nothing", "50 Secrets", "50 Secrets and a List", "50 ConfigMaps elsewhere"} {
		b.Run(others, func(b *testing.B) {
			var afterEvent, afterType, behind int
			for b.Loop() {
				list := testkit.Must(core.ConfigMaps(watched).List(b.Context(), metav1.ListOptions{}))(b)
				events := testkit.Must(core.ConfigMaps(watched).Watch(b.Context(), metav1.ListOptions{
					ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true, TimeoutSeconds: new(int64(8)),
				}))(b)
				lastEvent := createConfigMap(watched)
				lastOfType := lastEvent
				for range 50 {
					switch others {
					case "50 Secrets", "50 Secrets and a List":
						createSecret()
					case "50 ConfigMaps elsewhere":
						lastOfType = createConfigMap(other)
					}
				}
				if others == "50 Secrets and a List" {
					testkit.Must(core.ConfigMaps(other).List(b.Context(), metav1.ListOptions{}))(b)
				}
				bookmark := awaitBookmark(b, events)
				newest := testkit.Must(core.Namespaces().List(b.Context(), metav1.ListOptions{Limit: 1}))(b)
				afterEvent += bookmark - lastEvent
				afterType += bookmark - lastOfType
				behind += version(b, newest.ResourceVersion) - bookmark
			}
			b.ReportMetric(float64(afterEvent)/float64(b.N), "after-last-event")
			b.ReportMetric(float64(afterType)/float64(b.N), "after-last-of-type")
			b.ReportMetric(float64(behind)/float64(b.N), "behind-newest")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// awaitBookmark returns the version of the watch's next bookmark.
func awaitBookmark(b *testing.B, events watch.Interface) int {
	b.Helper()
	defer events.Stop()
	deadline := time.After(time.Minute)
	for {
		select {
		case event, open := <-events.ResultChan():
			if !open {
				b.Fatal("the watch has ended without a bookmark")
			}
			if event.Type == watch.Bookmark {
				return version(b, event.Object.(*corev1.ConfigMap).ResourceVersion)
			}
		case <-deadline:
			b.Fatal("no bookmark within a minute")
		}
	}
}

// version returns a resourceVersion as a number, which it is on every server today.
func version(b *testing.B, resourceVersion string) int {
	b.Helper()
	return testkit.Must(strconv.Atoi(resourceVersion))(b)
}
