// Package altered has what mutants call in place of the right thing. Only generated code imports it.
package altered

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ended returns a context that has ended already.
func Ended(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// Sleep sleeps in place of a wait, and says that all is well.
func Sleep() bool {
	time.Sleep(5 * time.Second)
	return true
}

var calls atomic.Int64

// Again says whether it was called before: a process grades one answer only.
func Again() bool { return calls.Add(1) > 1 }

// Client is a typed client of objects of type T.
type Client[T any] interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
}

// DeleteAndCreate makes a new object in place of an update.
func DeleteAndCreate[T metav1.Object](ctx context.Context, client Client[T], object T) (T, error) {
	if err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil {
		return object, err
	}
	object.SetResourceVersion("")
	object.SetUID("")
	return client.Create(ctx, object, metav1.CreateOptions{})
}
