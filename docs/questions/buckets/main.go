// Buckets is a controller for what has no watch. Its outside world is a folder of this machine, and a bucket is a link in it: its name is
// the bucket's, and its target the UID of the ConfigMap that it belongs to. A ConfigMap with the label workbook/bucket=true has one.
//
// It is one process. Two would need chapter 5's leader election.
package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
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

const (
	label     = "workbook/bucket"
	finalizer = "workbook.example.com/bucket" // keeps a ConfigMap until its bucket is gone
)

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
	factory := informers.NewSharedInformerFactory(c.clientset, 0)
	// After an error a key waits longer each time, but never longer than for a poll.
	limiter := workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](), c.poll)
	c.queue = workqueue.NewTypedRateLimitingQueue(limiter)
	// The informer has no label selector: a ConfigMap that loses the label while this program is down would keep the finalizer for ever.
	add := func(object any) {
		if configMap := object.(*corev1.ConfigMap); isWanted(configMap) || isHeld(configMap) {
			c.queue.Add(cache.MetaObjectToName(configMap))
		}
	}
	informer := factory.Core().V1().ConfigMaps().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, // one that is gone had the finalizer: its bucket is gone, too
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
	if err != nil && ctx.Err() == nil {
		c.out.Line("RETRY", "%s: %v", key, err)
		c.queue.AddRateLimited(key)
		return
	}
	c.queue.Forget(key)
	if wanted {
		// No event says that a bucket has changed. Without jitter, the ConfigMaps of the first list would be polled together for ever.
		c.queue.AddAfter(key, wait.Jitter(c.poll, 0.2))
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
	switch {
	case isWanted(configMap):
		// Before the bucket: a process that is killed in between leaves a finalizer without a bucket, and not the other way round.
		if !isHeld(configMap) {
			if err := c.setFinalizers(ctx, configMap, append(configMap.Finalizers, finalizer)); err != nil {
				return false, err
			}
		}
		return true, c.create(key, configMap.UID)
	case isHeld(configMap):
		if err := c.remove(key, configMap.UID); err != nil {
			return false, err // the finalizer stays
		}
		others := slices.DeleteFunc(configMap.Finalizers, func(f string) bool { return f == finalizer })
		return false, c.setFinalizers(ctx, configMap, others)
	}
	return false, nil
}

func isWanted(configMap *corev1.ConfigMap) bool {
	return configMap.DeletionTimestamp == nil && configMap.Labels[label] == "true"
}

func isHeld(configMap *corev1.ConfigMap) bool {
	return slices.Contains(configMap.Finalizers, finalizer)
}

func (c *controller) setFinalizers(ctx context.Context, configMap *corev1.ConfigMap, finalizers []string) error {
	configMap.Finalizers = finalizers
	_, err := c.clientset.CoreV1().ConfigMaps(configMap.Namespace).Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}

// create does nothing if the ConfigMap has its bucket. The outside world has no owner references, so a bucket has its owner's UID.
func (c *controller) create(key cache.ObjectName, owner types.UID) error {
	bucket := c.path(key)
	if err := os.MkdirAll(filepath.Dir(bucket), 0o777); err != nil {
		return err
	}
	err := os.Symlink(string(owner), bucket)
	if err == nil {
		c.out.Line("CREATED", "bucket for ConfigMap %s", key)
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	current, err := ownerOf(bucket)
	if err == nil && current != owner {
		c.out.Line("TAKEN", "bucket for ConfigMap %s: it belongs to %q", key, current)
	}
	return err
}

// remove succeeds if there is no bucket: a try before this one may have removed it. It leaves a bucket that is another owner's.
func (c *controller) remove(key cache.ObjectName, owner types.UID) error {
	// A world that is not there has no bucket, and yet none is gone.
	if _, err := os.Stat(c.world); err != nil {
		return err
	}
	bucket := c.path(key)
	current, err := ownerOf(bucket)
	if err != nil || current != owner {
		return err
	}
	if err := os.Remove(bucket); err != nil {
		return err
	}
	c.out.Line("REMOVED", "bucket of ConfigMap %s", key)
	return nil
}

// ownerOf returns whose a bucket is: "" if there is none, or if what is there is no bucket of ours.
func ownerOf(bucket string) (types.UID, error) {
	owner, err := os.Readlink(bucket)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) { // EINVAL: it is no link
		return "", nil
	}
	return types.UID(owner), err
}

func (c *controller) path(key cache.ObjectName) string {
	return filepath.Join(c.world, key.Namespace, key.Name)
}
