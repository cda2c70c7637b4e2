package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

const (
	boost = "kueue.x-k8s.io/priority-boost"

	// most is the greatest boost; its negative is the smallest. A user's own priority counts before the boost if priorities are
	// more than twice as far apart.
	most = 1 << 29

	// mostPods is as how many pods a larger Workload counts.
	mostPods = 1 << 14

	// stride is the distance of neighbours at the ends, where room is left for later ones.
	stride = 1 << 14
)

// An order is that of Workloads by a policy. A Workload is a job with a task for each of its pods, all of which run from the time when
// Kueue reserves quota until the Workload has finished, since Kueue gives back no part of it before.
type order struct {
	driver  *driver.Driver
	ranking sojourn.Explainer
	now     func() time.Time
	known   map[types.UID]*workload
	byID    map[sojourn.JobID]*workload
	last    sojourn.JobID
	slots   sojourn.SlotID
	idle    []sojourn.SlotID
}

// A workload is one that waits or runs.
type workload struct {
	namespace, name string
	id              sojourn.JobID
	pods            int
	attempt         uint32
	on              []sojourn.SlotID // none: it waits
	boost           int64
	written         bool
	refused         error // by the policy
}

func newOrder(p sojourn.Policy, now func() time.Time) (*order, error) {
	ranking, ok := sojourn.As[sojourn.Explainer](p)
	if !ok {
		return nil, errors.New("it does not say in which order jobs stand")
	}
	start := now()
	d, err := driver.New(p, driver.Options{Now: func() sojourn.Time { return sojourn.Time(now().Sub(start)) }})
	if err != nil {
		return nil, err
	}
	return &order{driver: d, ranking: ranking, now: now, known: map[types.UID]*workload{}, byID: map[sojourn.JobID]*workload{}}, nil
}

// must tells the policy a fact. That it refuses one is a bug here.
func (o *order) must(ev sojourn.Event) {
	if err := o.driver.Observe(ev); err != nil {
		panic(err)
	}
}

// seen takes a Workload as it is now.
func (o *order) seen(u *unstructured.Unstructured) {
	w := o.known[u.GetUID()]
	reserved, since := condition(u, "QuotaReserved")
	finished, _ := condition(u, "Finished")
	switch {
	case w == nil && !finished:
		o.last++
		w = &workload{namespace: u.GetNamespace(), name: u.GetName(), id: o.last, pods: pods(u)}
		if n, err := strconv.ParseInt(u.GetAnnotations()[boost], 10, 32); err == nil && -most <= n && n <= most {
			w.boost, w.written = n, true // from an earlier life of this program
		}
		o.known[u.GetUID()] = w
		job := &sojourn.Job{ID: w.id, Name: w.namespace + "/" + owner(u), Pool: w.namespace, Phases: []sojourn.Phase{{Tasks: w.pods}}}
		if w.refused = o.driver.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); w.refused != nil {
			fmt.Fprintf(os.Stderr, "kueue-boost: Workload %s/%s keeps its place: %v\n", w.namespace, w.name, w.refused)
			return
		}
		o.byID[w.id] = w
	case w == nil || w.refused != nil:
		return
	}
	switch {
	case finished:
		o.run(w, 0) // it was not seen while it ran
		o.leave(w, driver.Finished)
		o.forget(u.GetUID(), w)
	case reserved:
		o.run(w, max(0, o.now().Sub(since)))
	default:
		o.leave(w, failed(sojourn.CausePreempted))
	}
}

// gone takes a Workload that was deleted.
func (o *order) gone(u *unstructured.Unstructured) {
	w := o.known[u.GetUID()]
	if w != nil && w.refused == nil {
		o.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: w.id}})
		o.leave(w, failed(sojourn.CauseSlotLost))
	}
	if w != nil {
		o.forget(u.GetUID(), w)
	}
}

func (o *order) forget(uid types.UID, w *workload) {
	delete(o.known, uid)
	delete(o.byID, w.id)
}

// run tells the policy that all pods of a Workload run, unless it knows.
func (o *order) run(w *workload, age time.Duration) {
	if w.on != nil {
		return
	}
	w.attempt++
	for i := range w.pods {
		if len(o.idle) == 0 {
			o.slots++
			o.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: o.slots}})
			o.idle = append(o.idle, o.slots)
		}
		slot := o.idle[len(o.idle)-1]
		o.idle, w.on = o.idle[:len(o.idle)-1], append(w.on, slot)
		o.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: w.task(i), Attempt: w.attempt, Slot: sojourn.Slot{ID: slot}, Service: age})
	}
}

// leave tells the policy how the pods of a Workload have ended, if they ran.
func (o *order) leave(w *workload, how func(sojourn.Assignment) sojourn.Event) {
	for i, slot := range w.on {
		o.must(how(sojourn.Assignment{Task: w.task(i), Attempt: w.attempt, Slot: slot}))
		o.idle = append(o.idle, slot)
	}
	w.on = nil
}

func failed(cause sojourn.Cause) func(sojourn.Assignment) sojourn.Event {
	return func(a sojourn.Assignment) sojourn.Event { return driver.Failed(a, cause) }
}

func (w *workload) task(i int) sojourn.TaskID { return sojourn.TaskID{Job: w.id, Index: uint32(i)} }

// rank returns the Workloads whose boosts are others than before. So few change as can be: those that change get numbers between
// those of their neighbours.
func (o *order) rank() (changed []*workload) {
	o.must(sojourn.Event{Kind: sojourn.Tick})
	var all []*workload
	for _, id := range o.ranking.AppendRanking(nil) {
		all = append(all, o.byID[id])
	}
	keep := longest(all)
	for i := 0; i < len(all); i++ {
		j := i // all[i:j] change, between all[i-1] and all[j]
		for j < len(all) && !keep[j] {
			j++
		}
		n := int64(j - i)
		above, gap := int64(0), int64(stride)
		switch {
		case i > 0 && j < len(all):
			above = all[i-1].boost
			gap = (above - all[j].boost) / (n + 1)
		case i > 0:
			above = all[i-1].boost
		case j < len(all):
			above = all[j].boost + stride*(n+1)
		default:
			gap = min(stride, most/(n+1))
		}
		if n > 0 && (gap == 0 || max(above, gap*n-above) > most) { // no room: all begin anew
			for _, w := range all {
				w.written = false
			}
			return o.rank()
		}
		for k, w := range all[i:j] {
			w.boost, w.written = above-gap*int64(k+1), true
			changed = append(changed, w)
		}
		i = j
	}
	return changed
}

// longest returns which Workloads keep their boosts, as many as can: those of a longest sequence in which they fall.
func longest(all []*workload) (keep []bool) {
	keep = make([]bool, len(all))
	var ends []int // of the falling sequences of each length: the last Workload, its boost as large as can be
	before := make([]int, len(all))
	for i, w := range all {
		if !w.written {
			continue
		}
		n := sort.Search(len(ends), func(k int) bool { return all[ends[k]].boost <= w.boost })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		}
		ends[n] = i
	}
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			keep[i] = true
		}
	}
	return keep
}

// pods returns how many pods a Workload has at a time.
func pods(u *unstructured.Unstructured) int {
	n := 0
	sets, _, _ := unstructured.NestedSlice(u.Object, "spec", "podSets")
	for _, s := range sets {
		if set, ok := s.(map[string]any); ok {
			count, _, _ := unstructured.NestedInt64(set, "count")
			n += int(min(max(0, count), mostPods))
		}
	}
	return min(max(n, 1), mostPods)
}

// owner returns the name of the Job that a Workload is of, by which policies learn lengths.
func owner(u *unstructured.Unstructured) string {
	for _, o := range u.GetOwnerReferences() {
		if o.Controller != nil && *o.Controller {
			return o.Name
		}
	}
	return u.GetName()
}

// condition reports whether a condition holds, and since when.
func condition(u *unstructured.Unstructured, kind string) (holds bool, since time.Time) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			since, _ = time.Parse(time.RFC3339, str(m["lastTransitionTime"]))
			return m["status"] == "True", since
		}
	}
	return false, time.Time{}
}

func str(v any) string { s, _ := v.(string); return s }
