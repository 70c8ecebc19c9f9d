package picture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/netfault"
)

// sample is the object that the buttons create, change and delete. They do it over a connection of their own, which is never
// cut, as from a second terminal.
type sample struct {
	Resource string // such as "pods"
	Object   unstructured.Unstructured
	Changes  []map[string]any // merge patches, used in turns. %d in them stands for a number that is another one each time
}

// slow is how long each hop waits in slow motion.
const slow = 700 * time.Millisecond

// updates is how many the button of that name makes, atOnce so many at a time.
const (
	updates = 1000
	atOnce  = 8
)

// button does what a button says, and returns one line for the page.
type button func(ctx context.Context) (string, error)

func (p *Picture) buttons(ctx context.Context, client dynamic.ResourceInterface) map[string]button {
	name, kind := p.chapter.Sample.Object.GetName(), p.chapter.Sample.Object.GetKind()
	missing := func(err error) error {
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("there is no %s %s: press Create first", kind, name)
		}
		return err
	}
	change := func(ctx context.Context, number int) error {
		changes := p.chapter.Sample.Changes
		patch, err := json.Marshal(changes[number%len(changes)])
		if err != nil {
			return err
		}
		patch = bytes.ReplaceAll(patch, []byte("%d"), []byte(strconv.Itoa(number)))
		_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return missing(err)
	}
	said := func(text string) button { return func(context.Context) (string, error) { return text, nil } }
	paced := func(delay time.Duration, paused bool, text string) button {
		return func(ctx context.Context) (string, error) {
			p.pace.set(delay, paused)
			return said(text)(ctx)
		}
	}
	toggled := func(gate *chan struct{}, closed, open string) button {
		return func(context.Context) (string, error) {
			if p.faults.toggle(gate) {
				return closed, nil
			}
			return open, nil
		}
	}
	cut := func(kind string, cutter *netfault.Cutter, effect string) button {
		return func(context.Context) (string, error) {
			p.restore(kind)
			return fmt.Sprintf("Cut: %d connection(s). %s", cutter.Cut(), effect), nil
		}
	}
	return map[string]button{
		"full":  paced(0, false, "Full speed."),
		"slow":  paced(slow, false, fmt.Sprintf("Each hop waits %s. The delay of a retry is longer: up to %s.", slow, stretchedTo)),
		"pause": paced(0, true, fmt.Sprintf("Each hop waits for Step. The delay of a retry is longer: up to %s.", stretchedTo)),
		"step": func(context.Context) (string, error) {
			if !p.pace.step() {
				return "", errors.New("no hop waits: let something happen first")
			}
			return "One hop.", nil
		},
		"create": func(ctx context.Context) (string, error) {
			_, err := client.Create(ctx, &p.chapter.Sample.Object, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return "", fmt.Errorf("%s %s is there already: change it, or delete it", kind, name)
			}
			return fmt.Sprintf("Created %s %s.", kind, name), err
		},
		"change": func(ctx context.Context) (string, error) {
			return fmt.Sprintf("Changed %s %s.", kind, name), change(ctx, p.number())
		},
		"delete": func(ctx context.Context) (string, error) {
			now := int64(0)
			err := client.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
			return fmt.Sprintf("Deleted %s %s.", kind, name), missing(err)
		},
		"updates": func(context.Context) (string, error) { return p.update(ctx, change) },
		"refuse":  cut("refused", &p.refused, "New ones are refused, as when the API server restarts."),
		"noroute": cut("noroute", &p.noRoute, "New ones find no network."),
		"silence": cut("silent", &p.silent, "They stay open, and nothing comes through: no packet and no end."),
		"restore": func(context.Context) (string, error) {
			p.restore("")
			return "New connections are let through. Each informer tries again after a pause, which grows with each failure.", nil
		},
		"fail": func(context.Context) (string, error) {
			return fmt.Sprintf("Syncs that will fail: the next %d.", p.faults.failNext()), nil
		},
		"hold":  toggled(&p.faults.hold, "Each worker that begins a sync waits, until you press this again.", "The workers go on."),
		"block": toggled(&p.faults.block, "Each handler that is called waits, until you press this again.", "The handlers go on."),
	}
}

// restore ends all cuts. kind is the one that begins now.
func (p *Picture) restore(kind string) {
	p.refused.Restore()
	p.noRoute.Restore()
	p.silent.Restore()
	p.mu.Lock()
	p.cut = kind
	p.mu.Unlock()
	what := "cut"
	if kind == "" {
		what = "restored"
	}
	p.log.add(Event{Part: "connection", What: what, Note: kind})
}

// number counts the changes of the sample.
func (p *Picture) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	return p.changes
}

// update begins to change the sample many times, and does not wait. The end is an event.
func (p *Picture) update(ctx context.Context, change func(context.Context, int) error) (string, error) {
	p.mu.Lock()
	running := p.updating
	p.updating = true
	p.mu.Unlock()
	if running {
		return "", errors.New("the last 1,000 updates are still on their way")
	}
	// The first one shows whether it works at all.
	if err := change(ctx, p.number()); err != nil {
		p.mu.Lock()
		p.updating = false
		p.mu.Unlock()
		return "", err
	}
	start, syncs := time.Now(), p.syncs.Load()
	p.group.Go(func() {
		var made atomic.Int64
		made.Store(1)
		group, ctx := errgroup.WithContext(ctx)
		for range atOnce {
			group.Go(func() error {
				for ctx.Err() == nil && made.Add(1) <= updates {
					if err := change(ctx, p.number()); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := group.Wait()
		note := fmt.Sprintf("%d updates in %s", updates, time.Since(start).Round(time.Millisecond))
		if p.queue != nil {
			note += fmt.Sprintf(", %d syncs meanwhile", p.syncs.Load()-syncs)
		}
		if err != nil {
			note = "not all updates were made: " + connect.Explain(err)
		}
		p.mu.Lock()
		p.updating = false
		p.mu.Unlock()
		p.log.add(Event{Part: "server", What: "updates", Note: note})
	})
	return "1,000 updates are on their way.", nil
}

// press answers a button.
func (p *Picture) press(buttons map[string]button) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		press, ok := buttons[r.PathValue("name")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		p.mu.Lock()
		if p.stopped {
			p.mu.Unlock()
			http.Error(w, "The program ends.", http.StatusServiceUnavailable)
			return
		}
		p.group.Add(1)
		p.mu.Unlock()
		defer p.group.Done()
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
		defer cancel()
		said, err := press(ctx)
		if err != nil {
			http.Error(w, connect.Explain(err), http.StatusConflict)
			return
		}
		fmt.Fprintln(w, said)
	}
}
