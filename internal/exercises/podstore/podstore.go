// Package podstore has a store that counts what is read. Its typed methods are for pods.
package podstore

import (
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Store is the store of an informer without the informer. It counts what an answer reads.
type Store struct {
	cache.Indexer
	BeforeRead func() // if set, runs before each read
	Failure    error  // if set, each method that can return an error returns this one
	items      atomic.Int64
}

var _ cache.TypedIndexer[*corev1.Pod] = &Store{}

// New returns a store with the index by namespace, as the informers of a factory have it. Add fills it.
func New() *Store {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return &Store{Indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)}
}

// Read returns how many objects, keys and index values the store has handed out.
func (s *Store) Read() int { return int(s.items.Load()) }

func (s *Store) List() []any {
	return read(s, s.Indexer.List)
}

func (s *Store) ListKeys() []string {
	return read(s, s.Indexer.ListKeys)
}

func (s *Store) ListIndexFuncValues(index string) []string {
	return read(s, func() []string { return s.Indexer.ListIndexFuncValues(index) })
}

func (s *Store) Index(index string, obj any) ([]any, error) {
	return lookup(s, func() ([]any, error) { return s.Indexer.Index(index, obj) })
}

func (s *Store) IndexKeys(index, value string) ([]string, error) {
	return lookup(s, func() ([]string, error) { return s.Indexer.IndexKeys(index, value) })
}

func (s *Store) ByIndex(index, value string) ([]any, error) {
	return lookup(s, func() ([]any, error) { return s.Indexer.ByIndex(index, value) })
}

func (s *Store) Get(obj any) (item any, exists bool, err error) {
	_, err = lookup(s, func() ([]any, error) { item, exists, err = s.Indexer.Get(obj); return []any{item}, err })
	return item, exists, err
}

func (s *Store) GetByKey(key string) (item any, exists bool, err error) {
	_, err = lookup(s, func() ([]any, error) { item, exists, err = s.Indexer.GetByKey(key); return []any{item}, err })
	return item, exists, err
}

func (s *Store) TypedIndex(index string, pod *corev1.Pod) ([]*corev1.Pod, error) {
	found, err := s.Index(index, pod)
	return typed(found), err
}

func (s *Store) ByTypedIndex(index, value string) ([]*corev1.Pod, error) {
	found, err := s.ByIndex(index, value)
	return typed(found), err
}

func (s *Store) AddTypedIndexers(indexers cache.TypedIndexers[*corev1.Pod]) error {
	return s.AddIndexers(cache.TypedIndexersToIndexers(indexers))
}

// AddIndexers fails in an informer that has ended, too.
func (s *Store) AddIndexers(indexers cache.Indexers) error {
	if s.Failure != nil {
		return s.Failure
	}
	return s.Indexer.AddIndexers(indexers)
}

// lookup is a read that can fail.
func lookup[T any](s *Store, ask func() ([]T, error)) (found []T, err error) {
	read(s, func() []T {
		if err = s.Failure; err == nil {
			found, err = ask()
		}
		return found
	})
	return found, err
}

func read[T any](s *Store, ask func() []T) []T {
	if s.BeforeRead != nil {
		s.BeforeRead()
	}
	found := ask()
	s.items.Add(int64(len(found)))
	return found
}

func typed(found []any) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(found))
	for _, obj := range found {
		pods = append(pods, obj.(*corev1.Pod))
	}
	return pods
}
