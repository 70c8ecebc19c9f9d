// Buckets is a controller for what has no watch. Its outside world is a folder of this machine, and a bucket is a link in it: its name is
// the bucket's, and its target the UID of the ConfigMap that it belongs to. A ConfigMap with the label workbook/bucket=true has one.
package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/program"
)

// finalizer keeps a ConfigMap until its bucket is gone.
const finalizer = "workbook.example.com/bucket"

func main() {
	p := program.New("buckets")
	p.Writes()
	c := controller{out: p.Out}
	p.Flags.StringVar(&c.world, "world", "", "folder that is the outside world")
	p.Flags.DurationVar(&c.poll, "poll", time.Minute, "how often to look at each bucket")
	p.Run(func(ctx context.Context, config *rest.Config) (err error) {
		if c.world == "" || c.poll <= 0 {
			return program.Usagef("--world names a folder, and --poll is more than 0")
		}
		if err := os.MkdirAll(c.world, 0o777); err != nil {
			return err
		}
		if c.clientset, err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
		return c.run(ctx)
	})
}

// controller gives each ConfigMap with the label a bucket.
type controller struct {
	clientset kubernetes.Interface
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
	world     string
	poll      time.Duration
	out       *program.Printer
}

// run syncs until ctx ends.
func (c *controller) run(ctx context.Context) error {
	// The informer has no label selector. With one, a ConfigMap that loses the label would be gone for this program, and would keep the
	// finalizer for ever.
	factory := informers.NewSharedInformerFactory(c.clientset, 0)
	c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	add := func(object any) {
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			c.queue.Add(name)
		}
	}
	informer := factory.Core().V1().ConfigMaps().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add,
	})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown() // waits for the informer
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	if !cache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
		return nil
	}
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return nil
		}
		c.process(ctx, key)
		c.queue.Done(key)
	}
}

// process syncs a key, and decides when it is synced again.
func (c *controller) process(ctx context.Context, key cache.ObjectName) {
	wanted, err := c.sync(ctx, key)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.out.Line("RETRY", "%s: %v", key, err)
		c.queue.AddRateLimited(key)
	case wanted:
		// No event says that a bucket has changed. Without jitter, the ConfigMaps of the first list would all be polled in the same
		// moment, again and again.
		c.queue.AddAfter(key, wait.Jitter(c.poll, 0.2))
		fallthrough
	default:
		c.queue.Forget(key)
	}
}

// sync creates or removes the ConfigMap's bucket. It says whether there is to be one.
func (c *controller) sync(ctx context.Context, key cache.ObjectName) (wanted bool, err error) {
	// From the server: for a ConfigMap that only a late store still has, this would create a bucket that nobody removes.
	configMap, err := c.clientset.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil // with the finalizer, it would be there: its bucket is gone
	}
	if err != nil {
		return false, err
	}
	wanted = configMap.DeletionTimestamp == nil && configMap.Labels["workbook/bucket"] == "true"
	held := slices.Contains(configMap.Finalizers, finalizer)
	switch {
	case wanted && !held:
		// Before the bucket: a process that is killed in between leaves a finalizer without a bucket, and not the other way round. The
		// write is an event, which brings the key back.
		return false, c.setFinalizers(ctx, configMap, append(configMap.Finalizers, finalizer))
	case wanted:
		return true, c.create(key, configMap.UID)
	case held:
		if err := c.remove(key, configMap.UID); err != nil {
			return false, err
		}
		others := slices.DeleteFunc(configMap.Finalizers, func(f string) bool { return f == finalizer })
		return false, c.setFinalizers(ctx, configMap, others)
	}
	return false, nil
}

func (c *controller) setFinalizers(ctx context.Context, configMap *corev1.ConfigMap, finalizers []string) error {
	configMap.Finalizers = finalizers
	_, err := c.clientset.CoreV1().ConfigMaps(configMap.Namespace).Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}

// create does nothing if the ConfigMap has its bucket. Nothing outside has owner references, so each bucket has its owner's UID.
func (c *controller) create(key cache.ObjectName, owner types.UID) error {
	err := os.Symlink(string(owner), c.path(key))
	if err == nil {
		c.out.Line("CREATED", "bucket for ConfigMap %s", key)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	is, err := os.Readlink(c.path(key))
	if err == nil && is != string(owner) {
		c.out.Line("TAKEN", "bucket for ConfigMap %s: it is %s's", key, is)
	}
	return err
}

// remove succeeds if there is no bucket: a try before this one may have removed it. It leaves a bucket that is another owner's.
func (c *controller) remove(key cache.ObjectName, owner types.UID) error {
	is, err := os.Readlink(c.path(key))
	if errors.Is(err, fs.ErrNotExist) || err == nil && is != string(owner) {
		return nil
	}
	if err == nil {
		err = os.Remove(c.path(key))
	}
	if err == nil {
		c.out.Line("REMOVED", "bucket of ConfigMap %s", key)
	}
	return err
}

// path is the bucket's. A namespace has no dot in its name, so no two ConfigMaps have the same.
func (c *controller) path(key cache.ObjectName) string {
	return filepath.Join(c.world, key.Namespace+"."+key.Name)
}
