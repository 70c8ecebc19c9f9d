package ssa

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
)

// Undone remembers writes, to delay those that somebody undoes each time: an admission policy, a webhook, another controller. Each of
// their changes is an event, which brings the next sync: without a delay, the two would write without end.
type Undone struct {
	mu     sync.Mutex
	writes map[cache.ObjectName]map[string]writes // by owner and kind
}

// writes are the last ones for one desired state. When another state is desired, nobody has undone anything yet.
type writes struct {
	desired hash
	last    map[hash]write // by what was owned before: somebody can undo several fields in turns
}

type write struct {
	at    time.Time
	times int // of the same change
}

// hash is that of an apply configuration. A Secret's has a password, so the configuration itself is not kept.
type hash [sha256.Size]byte

const (
	firstDelay = time.Second
	lastDelay  = 5 * time.Minute
	// forgottenAfter is how long after a write the same change is a new one.
	forgottenAfter = 2 * lastDelay
)

// Change is what a write changes.
type Change struct {
	Field          string // the path of the first field that differs, such as .spec.replicas
	owned, desired hash
}

// ChangeOf returns the change of the write by which what is owned becomes what is desired.
func ChangeOf(owned, desired any) Change {
	from, to := plain(owned), plain(desired)
	return Change{firstDifference("", to, from), hashOf(from), hashOf(to)}
}

// Again returns how many of the last writes for this owner and kind were the same change, so that somebody has undone each of them; and
// whether it is too soon for the next one: the delay doubles with each.
func (u *Undone) Again(owner cache.ObjectName, kind string, change Change) (times int, tooSoon bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	last, ok := u.writes[owner][kind].last[change.owned]
	passed := time.Since(last.at)
	if !ok || u.writes[owner][kind].desired != change.desired || passed > forgottenAfter {
		return 0, false
	}
	return last.times, passed < min(firstDelay<<min(last.times-1, 20), lastDelay)
}

// Wrote records a write that the server has accepted.
func (u *Undone) Wrote(owner cache.ObjectName, kind string, change Change) {
	times, _ := u.Again(owner, kind, change)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.writes == nil {
		u.writes = map[cache.ObjectName]map[string]writes{}
	}
	if u.writes[owner] == nil {
		u.writes[owner] = map[string]writes{}
	}
	of := u.writes[owner][kind]
	if of.last == nil || of.desired != change.desired {
		of = writes{change.desired, map[hash]write{}}
	}
	maps.DeleteFunc(of.last, func(_ hash, w write) bool { return time.Since(w.at) > forgottenAfter })
	of.last[change.owned] = write{time.Now(), times + 1}
	u.writes[owner][kind] = of
}

// Clear forgets the writes for an owner that is gone.
func (u *Undone) Clear(owner cache.ObjectName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.writes, owner)
}

func hashOf(value any) hash {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was JSON
	}
	return sha256.Sum256(text)
}

// plain returns an apply configuration as maps and slices.
func plain(configuration any) (value any) {
	if err := convert(configuration, &value); err != nil {
		panic(err) // apply configurations exist to become JSON
	}
	return value
}

// firstDifference returns the path of the first field that differs, or path itself.
func firstDifference(path string, desired, owned any) string {
	switch desired := desired.(type) {
	case map[string]any:
		owned, _ := owned.(map[string]any)
		all := maps.Clone(desired)
		maps.Copy(all, owned)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !reflect.DeepEqual(desired[key], owned[key]) {
				return firstDifference(path+"."+key, desired[key], owned[key])
			}
		}
	case []any:
		owned, _ := owned.([]any)
		for i := range min(len(desired), len(owned)) {
			if !reflect.DeepEqual(desired[i], owned[i]) {
				return firstDifference(fmt.Sprintf("%s[%d]", path, i), desired[i], owned[i])
			}
		}
	}
	return path
}
