package sojourntest

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// full reports whether to ask all questions after the latest call.
func (w *witness) full() bool {
	m := w.h[len(w.h)-1].meeting()
	if !w.thorough && (w.met[m] || !w.curious) {
		return (len(w.h)+w.phase)%fullEvery < 2
	}
	w.met[m] = true
	return true
}

func (c *call) meeting() meeting { return meeting{c.assign, c.ok, c.ev.Kind, c.err} }

// foresee asks all questions before a call with an outcome that is expected for the
// first time, so that its changes show.
func (w *witness) foresee(c call) {
	if w.last.full || w.met[c.meeting()] || !w.curious {
		return
	}
	what := panicked(func() { w.last = w.s.view(w.names.classes, true) })
	if what != "" {
		w.fail(lawPanics, w.h, "an optional interface panics: %s", what)
	}
	w.h[len(w.h)-1].after = w.last
}

// look asks the optional interfaces after a call and judges the answers. If law is
// not empty, the call must have changed nothing.
func (w *witness) look(law string) {
	c := &w.h[len(w.h)-1]
	classes := w.names.classes
	full := w.full()
	var again *view
	if what := panicked(func() {
		c.after = w.s.view(classes, full)
		if full && (w.thorough || len(w.h)%2 == 0) {
			again = w.s.viewAfter(something(), classes, full)
		}
	}); what != "" {
		w.fail(lawPanics, w.h, "an optional interface panics after %v: %s", c, what)
	}
	if again != nil {
		w.checkPurity(c, again)
	}
	if law != "" {
		if diff := c.after.differs(w.last); diff != "" {
			w.fail(law, w.h, "after %v, %s", c, diff)
		}
	}
	w.last = c.after
	for _, class := range classes {
		if w.m.startable(class) == nil {
			c.idle = append(c.idle, class)
		}
	}
	w.checkSeeker(c.after)
	w.checkPreemptor(c.after)
	if w.thorough {
		w.checkJobs()
	}
	if !full {
		return
	}
	w.checkExplainer(c.after)
	w.checkPromiser(c.after)
	if err := c.after.err; err != nil && !errors.Is(err, errors.ErrUnsupported) {
		w.fail(lawSnapshots, w.h, "AppendBinary(nil) = %v", err)
	}
	if w.s.snapshotter != nil && c.after.err == nil && (w.thorough || w.extreme && again != nil) {
		w.unmarshal(w.fresh(), c.after.state, len(w.h))
	}
}

// checkJobs checks that the jobs are as they were when the policy got them.
func (w *witness) checkJobs() {
	for _, told := range w.jobs {
		if !reflect.DeepEqual(told.job, told.copy) {
			for i := range w.h { // the history shows what the policy got
				if w.h[i].ev.Job == told.job {
					w.h[i].ev.Job = told.copy
				}
			}
			w.fail(lawJobs, w.h, "job %d was changed from\n%s to\n%s", told.copy.ID, describe(told.copy), describe(told.job))
		}
	}
}

// checkPurity compares the answers of the optional interfaces with those to a second
// round of questions, in which the Append methods get a non-empty slice.
func (w *witness) checkPurity(c *call, again *view) {
	before := something()
	if w.s.preemptor != nil {
		if n := len(again.preemptions); n == 0 || again.preemptions[0] != before.preemptions[0] {
			w.fail(lawPurity, w.h, "AppendPreemptions(%v) = %v", before.preemptions, again.preemptions)
		}
		again.preemptions = again.preemptions[1:]
	}
	if w.s.explainer != nil {
		if n := len(again.ranking); n == 0 || again.ranking[0] != before.ranking[0] {
			w.fail(lawPurity, w.h, "AppendRanking(%d) = %d", before.ranking, again.ranking)
		}
		again.ranking = again.ranking[1:]
	}
	if w.s.promiser != nil {
		if n := len(again.voids); n == 0 || again.voids[0] != before.voids[0] {
			w.fail(lawPurity, w.h, "AppendVoid(%d) = %d", before.voids, again.voids)
		}
		again.voids = again.voids[1:]
	}
	if w.s.snapshotter != nil {
		if !bytes.HasPrefix(again.state, before.state) {
			w.fail(lawPurity, w.h, "AppendBinary([]byte(%q)) = %.100q, %v", before.state, again.state, again.err)
		}
		again.state = again.state[len(before.state):]
	}
	if diff := again.differs(c.after); diff != "" {
		w.fail(lawPurity, w.h, "asked again after %v, %s", c, diff)
	}
}

func (w *witness) checkSeeker(v *view) {
	for i, id := range v.seeks {
		class := w.names.classes[i]
		if s := w.m.slot(id); id != none && (s == nil || s.task != nil || s.Class != class) {
			w.fail(lawSeek, w.h, "Seek(%d) = %d, which is not a free slot of the class", class, id)
		}
	}
}

func (w *witness) checkPreemptor(v *view) {
	seen := map[sojourn.TaskID]bool{}
	for _, p := range v.preemptions {
		t := w.m.task(p.Task)
		if t == nil || t.state != running || t.attempts != p.Attempt || w.m.slotOf(t).ID != p.Slot || seen[p.Task] {
			w.fail(lawPreemptions, w.h, "AppendPreemptions(nil) = %v, but %v attempt %d does not run on slot %d, or is listed twice", v.preemptions, p.Task, p.Attempt, p.Slot)
		}
		if t.pinned {
			w.fail(lawPreemptions, w.h, "AppendPreemptions(nil) = %v, but %v attempt %d may not be killed, as TaskPinned has said", v.preemptions, p.Task, p.Attempt)
		}
		seen[p.Task] = true
	}
}

// checkExplainer leaves open whether a cancelled job that waits for its last
// attempts is listed and explained.
func (w *witness) checkExplainer(v *view) {
	if w.s.explainer == nil {
		return
	}
	listed := map[sojourn.JobID]bool{}
	for i, id := range v.ranking {
		j := w.m.job(id)
		if j == nil || listed[id] {
			w.fail(lawExplanations, w.h, "AppendRanking(nil) = %d, but job %d is not live, or is listed twice", v.ranking, id)
		}
		listed[id] = true
		if !v.reasons[i].ok && !j.cancelled {
			w.fail(lawExplanations, w.h, "Explain(%d) = %v, false, want true", id, v.reasons[i].attrs)
		}
		if key, ok := twice(v.reasons[i].attrs); ok {
			w.fail(lawExplanations, w.h, "Explain(%d) = %v, which has the key %q twice", id, v.reasons[i].attrs, key)
		}
		if key, x, ok := infinite(v.reasons[i].attrs); ok {
			w.fail(lawExplanations, w.h, "Explain(%d) = %v, but %q is %v", id, v.reasons[i].attrs, key, x)
		}
	}
	for _, id := range append(append(w.names.jobs, 0, noJob), sorted(w.used)...) {
		if listed[id] {
			continue
		}
		if j := w.m.job(id); j != nil {
			if !j.cancelled {
				w.fail(lawExplanations, w.h, "AppendRanking(nil) = %d, but job %d is live as well", v.ranking, id)
			}
		} else if attrs, ok := w.s.explainer.Explain(id); ok {
			w.fail(lawExplanations, w.h, "Explain(%d) = %v, true, want false", id, attrs)
		}
	}
}

// twice returns a key that appears twice, in attrs or in one of their groups.
func twice(attrs []slog.Attr) (key string, ok bool) {
	for i, a := range attrs {
		if slices.ContainsFunc(attrs[:i], func(b slog.Attr) bool { return a.Key == b.Key }) {
			return a.Key, true
		}
		if a.Value.Kind() == slog.KindGroup {
			if key, ok := twice(a.Value.Group()); ok {
				return key, true
			}
		}
	}
	return "", false
}

// infinite returns a number in attrs that is NaN or infinite, and its key.
func infinite(attrs []slog.Attr) (key string, x float64, ok bool) {
	for _, a := range attrs {
		switch v := a.Value.Resolve(); v.Kind() {
		case slog.KindGroup:
			key, x, ok = infinite(v.Group())
		case slog.KindFloat64:
			key, x, ok = a.Key, v.Float64(), !isFinite(v.Float64())
		case slog.KindAny:
			key = a.Key
			x, ok = infiniteIn(reflect.ValueOf(v.Any()), depthOfValues)
		}
		if ok {
			return key, x, true
		}
	}
	return "", 0, false
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// depthOfValues bounds how deep infiniteIn looks, since values may be cyclic.
const depthOfValues = 4

// infiniteIn returns a number in v that is NaN or infinite.
func infiniteIn(v reflect.Value, depth int) (x float64, ok bool) {
	if depth == 0 {
		return 0, false
	}
	in := func(v reflect.Value) bool {
		if !ok {
			x, ok = infiniteIn(v, depth-1)
		}
		return ok
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return v.Float(), !isFinite(v.Float())
	case reflect.Pointer, reflect.Interface:
		in(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			in(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			in(v.MapIndex(k))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			in(v.Field(i))
		}
	}
	return x, ok
}

// checkPromiser checks the void promises of a full view.
func (w *witness) checkPromiser(v *view) {
	if w.s.promiser == nil {
		return
	}
	listed := map[sojourn.JobID]bool{}
	for i, id := range v.voids {
		if w.m.job(id) == nil || listed[id] {
			w.fail(lawPromises, w.h, "AppendVoid(nil) = %d, but job %d is not live, or is listed twice", v.voids, id)
		}
		if listed[id] = true; v.whys[i] == "" {
			w.fail(lawPromises, w.h, "AppendVoid(nil) = %d, but Void(%d) gives no reason", v.voids, id)
		}
	}
	for _, id := range append(append(w.names.jobs, 0, noJob), sorted(w.used)...) {
		if listed[id] {
			continue
		}
		if why, ok := w.s.promiser.Void(id); ok {
			w.fail(lawPromises, w.h, "Void(%d) = %q, true, but AppendVoid(nil) = %d", id, why, v.voids)
		}
	}
}

// compareTwin compares all answers of the policy with those of the twin, which was
// asked almost nothing before.
func (w *witness) compareTwin() {
	if !w.last.full {
		w.last = w.s.view(w.names.classes, true)
		w.h[len(w.h)-1].after = w.last
	}
	w.compare(lawPurity, w.twin, len(w.h), "asked nothing before")
}
