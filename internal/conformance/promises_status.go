package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// status lets the server refuse all writes of a Deployment, and then tries what else a user can find out by the status only.
func status(ctx context.Context, w *World) error {
	const name = "status"
	if _, err := w.startController(); err != nil {
		return err
	}
	if _, err := w.create(ctx, name, withPod); err != nil {
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
	err := w.awaitStatus(ctx, name, w.timeout, func(now string) (string, error) {
		if now == "Ready=True" {
			return "", failed("read the status", "Ready=False, or Unknown", now)
		}
		if !strings.HasPrefix(now, "Ready=") {
			return diffOf("Ready=False, for this generation", now), nil
		}
		return "", nil
	})
	if err != nil {
		return during(did, err)
	}
	span := max(w.rest/4, 3*time.Second)
	w.say("counting writes of the status for %s", span)
	if err := w.fewWrites(ctx, name, time.Now(), span, statusOfDatabases); err != nil {
		return during(did, err)
	}
	w.say("the writes are let through again")
	heal()
	_, state, err := w.untilReady(ctx, name, "")
	if err != nil {
		return during(did+", and then let through", err)
	}
	image := "no container has the image mysql:8.4.5, of " + name
	if strings.Contains(state, "image: mysql:8.4.5\n") {
		image = ""
	}
	if err := failed(did+", and then let through, until Ready", "", image); err != nil {
		return err
	}
	return each(ctx, choose(w, causes), func(ctx context.Context, i int, c cause) error {
		name := fmt.Sprintf("cause%d", i) // none of the words that the status has to have
		w.say("%s", c.did)
		return about(name, during(c.did, w.tells(ctx, name, c)))
	})
}

// cause is a reason why a database does not run that its user can mend.
type cause struct {
	did       string
	spec      func(*dbv1alpha1.DatabaseManagerSpec)
	before    action   // what makes the server refuse the children; may be nil
	after     action   // what becomes of the children; may be nil
	words     []string // one of them has to be in the message; none: it is no cause, and all has to be Ready
	meanwhile action   // what changes all the time while the cause stays; may be nil
	mend      action
	mended    string // what that does
}

var causes = []cause{
	{
		"created a DatabaseManager with a volume, where a quota allows no claim",
		func(*dbv1alpha1.DatabaseManagerSpec) {},
		(*World).allowNoClaim, nil, []string{"quota"}, nil, (*World).deleteQuota, "deleted the quota",
	},
	{
		"created a DatabaseManager where an admission policy allows no Deployment of its name",
		withPod,
		(*World).createPolicy, nil, []string{policyMessage}, nil, (*World).deletePolicy, "deleted the policy",
	},
	{
		"another manager gave its Deployment a nodeSelector that no node has",
		withPod, nil, (*World).selectNoNode, []string{"node", "schedul"}, nil, (*World).selectAnyNode, "took the nodeSelector away",
	},
	{
		"created a DatabaseManager of a version whose image cannot be pulled",
		func(s *dbv1alpha1.DatabaseManagerSpec) { withPod(s); s.Version = "0.0.1" },
		nil, (*World).reportNoImage, []string{"image"}, (*World).reportNoImageAgain,
		(*World).usualVersion, "took the version out of the spec",
	},
	{
		"created a DatabaseManager where an admission policy puts another image into its Deployment",
		withPod,
		mutates(`[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "mirror.example.com/database:1"}]`),
		nil, []string{"image"}, nil, (*World).deleteMutation, "deleted the policy",
	},
	{
		"created a DatabaseManager where an admission policy removes the mounts of volumes from its Deployment",
		func(s *dbv1alpha1.DatabaseManagerSpec) { s.Replicas = new(int32(0)) },
		mutates(`has(object.spec.template.spec.containers[0].volumeMounts) ?
			[JSONPatch{op: "remove", path: "/spec/template/spec/containers/0/volumeMounts"}] : []`),
		nil, []string{"mount"}, nil, (*World).deleteMutation, "deleted the policy",
	},
	{
		"created a DatabaseManager where an admission policy gives the container of its Deployment another name, and allows no other",
		withPod,
		mutates(`object.spec.template.spec.containers.size() > 1 ? [JSONPatch{op: "remove", path: "/spec/template/spec/containers/1"}] :
			[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/name", value: "renamed"}]`),
		nil, []string{"container"}, nil, (*World).deleteMutation, "deleted the policy",
	},
	{
		"created a DatabaseManager where an admission policy adds a container to its Deployment, before the others",
		withPod,
		mutates(`object.spec.template.spec.containers.exists(c, c.name == "added") ? [] :
			[JSONPatch{op: "add", path: "/spec/template/spec/containers/0",
				value: Object.spec.template.spec.containers{name: "added", image: "added"}}]`),
		nil, nil, (*World).changeBesideAdded, (*World).deleteMutation, "deleted the policy",
	},
}

func withPod(s *dbv1alpha1.DatabaseManagerSpec) { s.Replicas, s.StorageSize = new(int32(1)), nil }

// tells waits until the status tells the cause. What others report meanwhile may change without end, but not the status.
func (w *World) tells(ctx context.Context, name string, c cause) error {
	call := func(a action) error {
		if a == nil {
			return nil
		}
		return a(w, ctx, name)
	}
	if err := call(c.before); err != nil {
		return err
	}
	_, err := w.create(ctx, name, c.spec)
	if err == nil {
		err = call(c.after)
	}
	if err == nil {
		err = w.awaitStatus(ctx, name, w.timeout, func(now string) (string, error) {
			isTold := slices.ContainsFunc(c.words, func(word string) bool { return strings.Contains(strings.ToLower(now), word) })
			if len(c.words) == 0 {
				return diffOf(isReady, now), nil
			}
			if !strings.HasPrefix(now, "Ready=") || strings.HasPrefix(now, "Ready=True") || !isTold {
				return diffOf("Ready=False, with a message about: "+strings.Join(c.words, ", "), now), nil
			}
			return "", nil
		})
	}
	if err == nil {
		since := time.Now()
		if err = call(c.meanwhile); err == nil {
			if len(c.words) == 0 {
				since = time.Now() // that was a change
			}
			err = w.fewWrites(ctx, name, since, 3*time.Second, statusOfDatabases, "deployments")
		}
	}
	if mendErr := call(c.mend); err != nil || mendErr != nil {
		return cmp.Or(err, mendErr)
	}
	// It may wait longer after each failure, for up to a minute.
	err = w.awaitStatus(ctx, name, w.timeout+time.Minute, func(now string) (string, error) { return diffOf("Ready=True", now), nil })
	return during("then "+c.mended, err)
}

// awaitStatus waits until nothing differs in what a status says.
func (w *World) awaitStatus(ctx context.Context, name string, timeout time.Duration, differs func(now string) (string, error)) error {
	return w.awaitFor(ctx, timeout, "the status of "+name, func(ctx context.Context) (string, error) {
		d, err := w.databases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return differs(w.resource.told(d))
	})
}

const statusOfDatabases = "databasemanagers/status"

// fewWrites waits, and counts the writes of resources since a time from which on nothing has changed.
func (w *World) fewWrites(ctx context.Context, name string, since time.Time, span time.Duration, resources ...string) error {
	if err := pause(ctx, span); err != nil {
		return err
	}
	for _, resource := range resources {
		writes := len(w.tap.all(func(r Request) bool {
			isMeant := r.Resource == resource && r.Name == name && r.isWrite() && !r.At.Before(since)
			return isMeant && (resource == statusOfDatabases || r.Code/100 == 2) // a child's write that is refused is tried again
		}))
		most := 3
		if resource != statusOfDatabases {
			most = 6 // two tries: where an apply cannot undo a change, a try is two updates and an apply
		}
		if writes > most {
			did := fmt.Sprintf("counted the writes of %s of %s for %s", resource, name, time.Since(since).Round(time.Second))
			return failed(did, fmt.Sprintf("%d at most, as the cause is the same", most), fmt.Sprint(writes))
		}
	}
	return w.timeStays(ctx, name)
}

// aTime is a time of the day, or a date.
var aTime = regexp.MustCompile(`\b\d{1,2}:\d{2}:\d{2}\b|\b20\d{2}-\d{2}-\d{2}\b`)

// timeStays waits for another minute if a status has a time in it: one that is cut to minutes changes only then, and only when the
// controller, which can wait for a minute itself, tries again.
func (w *World) timeStays(ctx context.Context, name string) error {
	var told string
	read := func(now string) (string, error) { told = now; return "", nil }
	if err := w.awaitStatus(ctx, name, w.timeout, read); err != nil || !aTime.MatchString(told) {
		return err
	}
	before := told
	w.say("the status of %s has a time in it: waiting for another minute", name)
	if err := pause(ctx, time.Until(time.Now().Truncate(time.Minute).Add(time.Minute+65*time.Second))); err != nil {
		return err
	}
	if err := w.awaitStatus(ctx, name, w.timeout, read); err != nil {
		return err
	}
	return failed("read the status of "+name+" in another minute: the cause is the same", before, told)
}

func (w *World) allowNoClaim(ctx context.Context, name string) error {
	quotas := w.client.CoreV1().ResourceQuotas(w.namespace)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: resource.MustParse("0")},
	}}
	if _, err := quotas.Create(ctx, quota, metav1.CreateOptions{}); err != nil {
		return err
	}
	return w.awaitCluster(ctx, "the quota's controller", func(ctx context.Context) (string, error) {
		quota, err := quotas.Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(quota.Status.Hard) == 0 {
			return "+ a quota without a status", nil
		}
		return "", err
	})
}

func (w *World) deleteQuota(ctx context.Context, name string) error {
	return w.client.CoreV1().ResourceQuotas(w.namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

func (w *World) selectNoNode(ctx context.Context, name string) error {
	if _, _, err := w.untilReady(ctx, name, ""); err != nil {
		return err
	}
	return w.selectNode(ctx, name, `{"example.com/no-such": "node"}`)
}

func (w *World) selectAnyNode(ctx context.Context, name string) error {
	return w.selectNode(ctx, name, "null")
}

func (w *World) selectNode(ctx context.Context, name, selector string) error {
	patch := fmt.Sprintf(`{"spec": {"template": {"spec": {"nodeSelector": %s}}}}`, selector)
	_, err := w.client.AppsV1().Deployments(w.namespace).Patch(
		ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager + "-other"})
	return err
}

func (w *World) usualVersion(ctx context.Context, name string) error {
	return w.patch(ctx, name, `{"spec": {"version": null}}`)
}

// reportNoImage waits for a pod. On a cluster whose nodes run nothing, every pod is soon Running: there, it reports what a kubelet
// does that cannot pull the image.
func (w *World) reportNoImage(ctx context.Context, name string) error {
	pods := w.client.CoreV1().Pods(w.namespace)
	var pod corev1.Pod
	err := w.await(ctx, "a Deployment with a pod", func(ctx context.Context) (string, error) {
		deployment, err := w.client.AppsV1().Deployments(w.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "+ none", unlessGone(err)
		}
		return diffOf(int32(1), *deployment.Spec.Replicas), nil
	})
	if err != nil {
		return err
	}
	err = w.awaitCluster(ctx, "a pod that a kubelet has seen", func(ctx context.Context) (string, error) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		i := slices.IndexFunc(list.Items, func(pod corev1.Pod) bool {
			return strings.HasPrefix(pod.Name, name+"-") && len(pod.Status.ContainerStatuses) > 0
		})
		if err != nil || i < 0 {
			return "+ none", err
		}
		pod = list.Items[i]
		return "", nil
	})
	if err != nil || pod.Status.Phase != corev1.PodRunning {
		return err
	}
	return w.reportAttempt(ctx, &pod, 0)
}

// reportNoImageAgain goes on: a kubelet tries again, and each time the reason is another one, and the message.
func (w *World) reportNoImageAgain(ctx context.Context, name string) error {
	list, err := w.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for attempt := range 8 {
		for _, pod := range list.Items {
			if strings.HasPrefix(pod.Name, name+"-") {
				if err := w.reportAttempt(ctx, &pod, attempt+1); err != nil {
					return unlessGone(err)
				}
			}
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) reportAttempt(ctx context.Context, pod *corev1.Pod, attempt int) error {
	patch := fmt.Sprintf(`{"status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}],
		"containerStatuses": [{"name": %q, "image": %q, "imageID": "", "restartCount": 0, "ready": false,
		"state": {"waiting": {"reason": %q, "message": "attempt %d"}}}]}}`, pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Image,
		[]string{"ErrImagePull", "ImagePullBackOff"}[attempt%2], attempt)
	_, err := w.client.CoreV1().Pods(w.namespace).Patch(
		ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}
