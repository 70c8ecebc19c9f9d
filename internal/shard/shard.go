// Package shard cuts the objects of a cluster into parts, by the hash of their UIDs or of their namespaces. The API server does the
// same for a list and a watch, if its feature gate ShardedListAndWatch is on.
package shard

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
)

// Shard is one of these parts. The zero value has all objects.
type Shard struct {
	name     string // such as 2/4
	selector sharding.Selector
	noticed  *sync.Once // that the server sends all objects
}

// Parse reads I/N, such as 2/4 for the second of four, which have about the same number of UIDs. A wrong value leaves the shard as it is.
func (s *Shard) Parse(value string) error {
	number, count, err := parse(value)
	if err != nil {
		return err
	}
	s.set("object.metadata.uid", value, equal(number-1, count), equal(number, count))
	return nil
}

// ParseNamespaces reads I/N:CUT,CUT, such as 2/3:0x5f00000000000000,0x5f80000000000000: of all namespaces, those whose hash is not less
// than the first cut, and less than the second. All shards must have the same cuts: [Cuts] makes them. Without cuts, the hashes are cut
// into equal ranges, in which the numbers of namespaces can be far from equal.
func (s *Shard) ParseNamespaces(value string) error {
	name, list, hasCuts := strings.Cut(value, ":")
	number, count, err := parse(name)
	if err != nil {
		return err
	}
	var cuts []string
	if list != "" {
		cuts = strings.Split(list, ",")
	}
	if !hasCuts {
		cuts = Cuts(nil, int(count))
	}
	bounds := slices.Concat([]string{equal(0, 1)}, cuts, []string{equal(1, 1)})
	isWrong := uint64(len(cuts)) != count-1
	for i, cut := range cuts {
		isWrong = isWrong || !isHash(cut) || cut <= bounds[i] // the server refuses an empty range
	}
	if isWrong {
		return fmt.Errorf("for %d shards, it takes %d cuts, each higher than the one before, such as 0x5f00000000000000", count, count-1)
	}
	s.set("object.metadata.namespace", name, bounds[number-1], bounds[number])
	return nil
}

var isHash = regexp.MustCompile("^0x[0-9a-f]{16}$").MatchString

func (s *Shard) set(key, name, start, end string) {
	*s = Shard{
		name:     name,
		selector: sharding.NewSelector(sharding.ShardRangeRequirement{Key: key, Start: start, End: end}),
		noticed:  new(sync.Once),
	}
}

// Most is the largest number of shards.
const Most = 999

func parse(value string) (number, count uint64, err error) {
	first, second, _ := strings.Cut(value, "/")
	number, err = strconv.ParseUint(first, 10, 32)
	count, err2 := strconv.ParseUint(second, 10, 32)
	if err != nil || err2 != nil || number < 1 || number > count || count > Most {
		return 0, 0, fmt.Errorf("it takes I/N, such as 2/4 for the second of four, of %d at most", Most)
	}
	return number, count, nil
}

// Cuts returns count-1 hashes that cut the namespaces into count ranges with the same number of them, as far as that can be. Without
// namespaces, the ranges have the same size.
func Cuts(namespaces []string, count int) []string {
	hashes := make([]string, len(namespaces))
	for i, namespace := range namespaces {
		hashes[i] = "0x" + sharding.HashField(namespace)
	}
	slices.Sort(hashes)
	cuts := make([]string, count-1)
	last := uint64(0)
	for i := range cuts {
		cuts[i] = equal(uint64(i+1), uint64(count))
		if len(hashes) == 0 {
			continue
		}
		// With fewer namespaces than ranges, some ranges have none. They are as small as the server allows.
		hash, _ := strconv.ParseUint(hashes[(i+1)*len(hashes)/count], 0, 64)
		last = max(hash, last+1)
		cuts[i] = fmt.Sprintf("0x%016x", last)
	}
	return cuts
}

// equal returns part/count of all hashes, of which there are 2^64. The server takes 16 hexadecimal digits, and 17 for the end of all.
func equal(part, count uint64) string {
	hash := new(big.Int).Lsh(new(big.Int).SetUint64(part), 64)
	return fmt.Sprintf("0x%016x", hash.Div(hash, new(big.Int).SetUint64(count)))
}

// Name is I/N, or empty for all objects.
func (s Shard) Name() string { return s.name }

// String is what a list and a watch ask the server for, in their ShardSelector. It is empty for all objects.
func (s Shard) String() string {
	if s.selector == nil {
		return ""
	}
	return s.selector.String()
}

// Suffix is for names, such as that of a Lease: -2-of-4, or nothing for all objects.
func (s Shard) Suffix() string {
	if s.name == "" {
		return ""
	}
	return "-" + strings.Replace(s.name, "/", "-of-", 1)
}

// HasNamespace reports whether the objects of a namespace are in the shard, which is one of namespaces. For a namespace of another one
// it prints a line, once: the server has sent more than it was asked for.
func (s Shard) HasNamespace(namespace string, out *program.Printer) bool {
	if s.selector == nil {
		return true
	}
	matches, err := s.selector.Matches(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}})
	if err != nil || matches {
		return true // no object is lost
	}
	s.notice(out)
	return false
}

func (s Shard) notice(out *program.Printer) {
	s.noticed.Do(func() {
		out.Line("SHARD", "the server sends all objects, and the stores keep them: filtering them here")
	})
}

// Object is what Filter needs of an object.
type Object interface {
	cache.Object
	runtime.Object
}

// Filter returns a handler that passes on what is in the shard. A server with the feature gate off ignores a ShardSelector, and sends
// all objects without an error: then this prints one line. The informer's store has all objects, too.
func Filter[T Object](s Shard, out *program.Printer, handler cache.TypedResourceEventHandler[T]) cache.TypedResourceEventHandler[T] {
	if s.selector == nil {
		return handler
	}
	return cache.TypedFilteringResourceEventHandler[T]{Handler: handler, FilterFunc: func(object T) bool {
		var none T
		if object == none {
			return true // the tombstone of an object that is not known
		}
		matches, err := s.selector.Matches(object)
		if err != nil || matches {
			return true // no object is lost
		}
		s.notice(out)
		return false
	}}
}
