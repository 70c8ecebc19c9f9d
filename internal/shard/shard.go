// Package shard cuts the objects of a cluster into parts of about the same size, by the hash of their UIDs. The API server does the
// same for a list and a watch, if its feature gate ShardedListAndWatch is on.
package shard

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
)

// Shard is one of these parts. The zero value has all objects.
type Shard struct {
	selector sharding.Selector
	noticed  *sync.Once // that the server sends all objects
}

// Parse reads I/N, such as 2/4 for the second of four. A wrong value leaves the shard as it is.
func (s *Shard) Parse(value string) error {
	first, second, _ := strings.Cut(value, "/")
	number, err := strconv.ParseUint(first, 10, 32)
	count, err2 := strconv.ParseUint(second, 10, 32)
	if err != nil || err2 != nil || number < 1 || number > count {
		return errors.New("it takes I/N, such as 2/4 for the second of four")
	}
	s.noticed = new(sync.Once)
	s.selector = sharding.NewSelector(sharding.ShardRangeRequirement{
		Key: "object.metadata.uid", Start: bound(number-1, count), End: bound(number, count),
	})
	return nil
}

// bound returns part/count of all hashes, of which there are 2^64. The server takes 16 hexadecimal digits, and 17 for the end of all.
func bound(part, count uint64) string {
	hash := new(big.Int).Lsh(new(big.Int).SetUint64(part), 64)
	return fmt.Sprintf("0x%016x", hash.Div(hash, new(big.Int).SetUint64(count)))
}

// String is what a list and a watch ask the server for, in their ShardSelector. It is empty for all objects.
func (s Shard) String() string {
	if s.selector == nil {
		return ""
	}
	return s.selector.String()
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
		s.noticed.Do(func() {
			out.Line("SHARD", "the server sends all objects, and the stores keep them: filtering them here")
		})
		return false
	}}
}
