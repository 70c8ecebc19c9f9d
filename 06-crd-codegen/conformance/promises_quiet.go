package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// pause waits for the span in which requests are counted.
func pause(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(span):
		return nil
	}
}

// untilQuiet waits until there was no write for 2 s. A DatabaseManager is Ready before its controller has seen the last change.
func (w *World) untilQuiet(ctx context.Context) error {
	return w.await(ctx, "2 s without a write", func(context.Context) (string, error) {
		return list(w.tap.writes("", time.Now().Add(-2*time.Second))), nil
	})
}

// list returns one line for each request.
func list(requests []Request) string {
	var lines strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&lines, "%s %s %s\n", r.Verb, r.Resource, r.Name)
	}
	return lines.String()
}

// quiet counts the writes where nothing is to be written.
func quiet(ctx context.Context, w *World) error {
	first, err := w.startController()
	if err != nil {
		return err
	}
	for name, replicas := range map[string]int32{"quiet-runs": 1, "quiet-volume": 0} {
		_, err := w.create(ctx, name, func(s *dbv1alpha1.DatabaseManagerSpec) {
			if s.Replicas = &replicas; replicas > 0 {
				s.StorageSize = nil
			}
		})
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"quiet-runs", "quiet-volume"} {
		if _, _, err := w.untilReady(ctx, name, ""); err != nil {
			return err
		}
	}
	if err := w.untilQuiet(ctx); err != nil {
		return err
	}
	w.say("at rest for %s", w.rest)
	since := time.Now()
	if err := pause(ctx, w.rest); err != nil {
		return err
	}
	if err := failed(fmt.Sprintf("waited %s at rest", w.rest), "", list(w.tap.writes("", since))); err != nil {
		return err
	}
	w.say("started again")
	first.kill()
	<-first.ended
	since = time.Now()
	if _, err := w.startController(); err != nil {
		return err
	}
	// The write of a new one shows that it works again.
	if _, err := w.create(ctx, "new"); err != nil {
		return err
	}
	if _, _, err := w.untilReady(ctx, "new", ""); err != nil {
		return err
	}
	if err := pause(ctx, w.rest/4); err != nil {
		return err
	}
	return failed("started it again, with all as desired", "", list(w.tap.writes("quiet", since)))
}

// status lets the server refuse all writes of a Deployment.
func status(ctx context.Context, w *World) error {
	const name = "status"
	if _, err := w.startController(); err != nil {
		return err
	}
	running := func(s *dbv1alpha1.DatabaseManagerSpec) { s.Replicas, s.StorageSize = new(int32(1)), nil }
	if _, err := w.create(ctx, name, running); err != nil {
		return err
	}
	if _, _, err := w.untilReady(ctx, name, ""); err != nil {
		return err
	}
	if err := w.untilQuiet(ctx); err != nil {
		return err
	}
	w.say("each write of the Deployment is answered 500")
	heal := w.tap.add(&Fault{Name: name, Resource: "deployments", Code: http.StatusInternalServerError})
	defer heal()
	if err := w.patch(ctx, name, `{"spec": {"version": "8.4.5"}}`); err != nil {
		return err
	}
	const did = "changed the version, with each write of the Deployment answered 500"
	err := w.await(ctx, "the status to tell it", func(ctx context.Context) (string, error) {
		d, err := w.databases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		now := told(d)
		if now == "Ready=True" {
			return "", failed("read the status", "Ready=False, or Unknown", now)
		}
		if !strings.HasPrefix(now, "Ready=") {
			return failed("", "Ready=False, for this generation", now).(*Failure).Diff, nil
		}
		return "", nil
	})
	if err != nil {
		return during(did, err)
	}
	span := max(w.rest/4, 3*time.Second)
	w.say("counting writes of the status for %s", span)
	since := time.Now()
	if err := pause(ctx, span); err != nil {
		return err
	}
	writes := w.tap.all(func(r Request) bool {
		return r.Resource == "databasemanagers/status" && r.isWrite() && !r.At.Before(since)
	})
	if len(writes) > 3 {
		return failed(fmt.Sprintf("%s; counted the writes of the status for %s", did, span), "3 at most, since nothing changes",
			fmt.Sprint(len(writes)))
	}
	w.say("the writes are let through again")
	heal()
	d, state, err := w.untilReady(ctx, name, "")
	if err != nil {
		return during(did+", and then let through", err)
	}
	image := "no container has the image mysql:8.4.5, of " + d.Name
	if strings.Contains(state, "image: mysql:8.4.5\n") {
		image = ""
	}
	if err := failed(did+", and then let through, until Ready", "", image); err != nil {
		return err
	}
	return w.quota(ctx)
}

// quota lets the server refuse a claim for a reason that a user can mend.
func (w *World) quota(ctx context.Context) error {
	const name = "quota"
	w.say("no claim is allowed by a quota")
	quotas := w.client.CoreV1().ResourceQuotas(w.namespace)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: resource.MustParse("0")},
	}}
	if _, err := quotas.Create(ctx, quota, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := w.await(ctx, "the quota's controller", func(ctx context.Context) (string, error) {
		quota, err := quotas.Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(quota.Status.Hard) == 0 {
			return "+ a quota without a status", nil
		}
		return "", err
	})
	if err != nil {
		return err
	}
	if _, err := w.create(ctx, name); err != nil {
		return err
	}
	const did = "created a DatabaseManager with a volume, where a quota allows no claim"
	err = w.await(ctx, "the status to tell it", func(ctx context.Context) (string, error) {
		d, err := w.databases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if now := told(d); strings.HasPrefix(now, "Ready=True") || !strings.Contains(now, "quota") {
			return diffOf("Ready=False, with a message about a quota", now), nil
		}
		return "", nil
	})
	if err != nil {
		return about(name, during(did, err))
	}
	if err := quotas.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	// It may wait longer after each failure, for up to a minute.
	err = w.awaitFor(ctx, w.timeout+time.Minute, name+" to be Ready", func(ctx context.Context) (string, error) {
		d, err := w.databases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return diffOf("Ready=True", told(d)), nil
	})
	return about(name, during(did+"; deleted the quota", err))
}
