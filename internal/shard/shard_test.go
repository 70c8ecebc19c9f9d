package shard_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/shard"
	"example.com/client-go-workbook/internal/test/testkit"
)

func TestParse(t *testing.T) {
	const uid = "shardRange(object.metadata.uid, '"
	for value, want := range map[string]string{
		"1/1": uid + "0x0000000000000000', '0x10000000000000000')",
		"1/3": uid + "0x0000000000000000', '0x5555555555555555')",
		"2/3": uid + "0x5555555555555555', '0xaaaaaaaaaaaaaaaa')",
		"3/3": uid + "0xaaaaaaaaaaaaaaaa', '0x10000000000000000')",
		"2/4": uid + "0x4000000000000000', '0x8000000000000000')",
	} {
		var s shard.Shard
		if err := s.Parse(value); err != nil || s.String() != want {
			t.Errorf("%s: %v, %q, want %q", value, err, s, want)
		}
	}
	for _, value := range []string{"", "/", "2", "0/4", "5/4", "-1/4", "2/x", "x/2", "2/4/8", "1/0", "1/4294967296"} {
		var s shard.Shard
		if err := s.Parse(value); err == nil || s.String() != "" {
			t.Errorf("%q: %v, %q, want an error", value, err, s)
		}
	}
}

// TestFilter calls the handlers of three shards for all pods, as a server does that ignores shards.
func TestFilter(t *testing.T) {
	printed := &testkit.Buffer{}
	counts := map[types.UID]int{}
	var handlers []cache.TypedResourceEventHandler[*corev1.Pod]
	sizes := make([]int, 3)
	for i := range sizes {
		var s shard.Shard
		if err := s.Parse(fmt.Sprintf("%d/3", i+1)); err != nil {
			t.Fatal(err)
		}
		handlers = append(handlers, shard.Filter(s, program.NewPrinter(printed), cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
			AddFunc: func(pod *corev1.Pod) {
				counts[pod.UID]++
				sizes[i]++
			},
			DeleteFunc: func(cache.DeletedObject[*corev1.Pod]) { counts["deleted"]++ },
		}))
	}
	const pods = 3000
	for range pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uuid.NewUUID()}}
		for _, handler := range handlers {
			handler.OnAdd(pod, false)
		}
	}
	if len(counts) != pods {
		t.Errorf("%d of %d pods are in a shard", len(counts), pods)
	}
	for uid, count := range counts {
		if count != 1 {
			t.Errorf("%s is in %d shards", uid, count)
		}
	}
	for i, size := range sizes {
		if size < pods/3-200 || size > pods/3+200 {
			t.Errorf("shard %d/3 has %d of %d pods", i+1, size, pods)
		}
	}
	// The informer can know no more of an object than that it is gone.
	for _, handler := range handlers {
		handler.OnDelete(cache.DeletedObject[*corev1.Pod]{FinalStateUnknown: &cache.DeletedFinalStateUnknown{Key: "default/a"}})
	}
	if counts["deleted"] != 3 {
		t.Errorf("%d handlers have got the deletion, want 3", counts["deleted"])
	}
	if lines := printed.Lines("SHARD"); len(lines) != 3 {
		t.Errorf("printed %q, want one line for each shard", lines)
	}
}

func TestParseNamespaces(t *testing.T) {
	const namespace = "shardRange(object.metadata.namespace, '"
	for value, want := range map[string]string{
		"1/1":                    namespace + "0x0000000000000000', '0x10000000000000000')",
		"2/2":                    namespace + "0x8000000000000000', '0x10000000000000000')",
		"1/2:0x5f00000000000000": namespace + "0x0000000000000000', '0x5f00000000000000')",
		"2/2:0x5f00000000000000": namespace + "0x5f00000000000000', '0x10000000000000000')",
		"2/3:0x5f00000000000000,0x5f00000000000001": namespace + "0x5f00000000000000', '0x5f00000000000001')",
	} {
		var s shard.Shard
		if err := s.ParseNamespaces(value); err != nil || s.String() != want {
			t.Errorf("%s: %v, %q, want %q", value, err, s, want)
		}
	}
	for _, value := range []string{
		"", "3/2", "2/2:", "2/2:5f", "2/2:0x5f", "2/2:0X5F00000000000000", "1/2:0x10000000000000000", "2/3:0x5f00000000000000",
		"2/3:0x5f00000000000001,0x5f00000000000000",
		"2/3:0x5f00000000000000,0x5f00000000000000", "1/2:0x0000000000000000", "1/1:0x5f00000000000000", "1/2:0x5f00000000000000 ",
	} {
		var s shard.Shard
		if err := s.ParseNamespaces(value); err == nil || s.String() != "" {
			t.Errorf("%q: %v, %q, want an error", value, err, s)
		}
	}
}

// TestCuts compares ranges of the same size with those between cuts, for namespaces whose names differ at their end only.
func TestCuts(t *testing.T) {
	var namespaces []string
	for i := range 100 {
		namespaces = append(namespaces, fmt.Sprintf("ns-%03d", i))
	}
	for cuts, want := range map[string][]int{
		"": {0, 0, 100, 0},
		":" + strings.Join(shard.Cuts(namespaces, 4), ","): {25, 25, 25, 25},
	} {
		got := make([]int, 4)
		for i := range got {
			var s shard.Shard
			if err := s.ParseNamespaces(fmt.Sprintf("%d/4%s", i+1, cuts)); err != nil {
				t.Fatal(err)
			}
			for _, namespace := range namespaces {
				if s.HasNamespace(namespace, program.NewPrinter(io.Discard)) {
					got[i]++
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("cuts %q: %d, want %d", cuts, got, want)
		}
	}
}

// TestCutsOfAnyNamespaces has each namespace in one shard, and shards whose sizes differ by one at most.
func TestCutsOfAnyNamespaces(t *testing.T) {
	for range 1000 {
		namespaces := make([]string, rand.IntN(50))
		for i := range namespaces {
			namespaces[i] = fmt.Sprintf("%x", rand.Uint64())
		}
		sizes := make([]int, 1+rand.IntN(12))
		cuts := strings.Join(shard.Cuts(namespaces, len(sizes)), ",")
		for i := range sizes {
			var s shard.Shard
			if err := s.ParseNamespaces(fmt.Sprintf("%d/%d:%s", i+1, len(sizes), cuts)); err != nil {
				t.Fatalf("%q: %v", namespaces, err)
			}
			for _, namespace := range namespaces {
				if s.HasNamespace(namespace, program.NewPrinter(io.Discard)) {
					sizes[i]++
				}
			}
		}
		sum := 0
		for _, size := range sizes {
			sum += size
		}
		if sum != len(namespaces) || slices.Max(sizes)-slices.Min(sizes) > 1 {
			t.Fatalf("%d namespaces are in shards of %d: %q", len(namespaces), sizes, namespaces)
		}
	}
}
