package forecast

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

var header = snapshot.Header{Policy: "forecast", Version: 1}

// AppendBinary implements [sojourn.Snapshotter]. It saves the policy inside and what tasks took. If the policy is no Snapshotter, the
// error wraps [errors.ErrUnsupported].
func (w *Watch) AppendBinary(dst []byte) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return snapshot.Append(dst, header, func(s *snapshot.Writer) {
		s.Binary(w.account)
		started := w.crowd.started()
		s.Len(len(started))
		for _, id := range started {
			s.Uint(uint64(id))
		}
		w.known.save(s)
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter]. It also takes what the policy inside saves without a Watch around it, as an account; then nothing is
// known of what tasks took.
func (w *Watch) UnmarshalBinary(data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	old, err := w.account.AppendBinary(nil)
	if err != nil {
		return err
	}
	var l lessons
	err = snapshot.Restore(&l, data, header, func() { l = lessons{started: map[sojourn.JobID]bool{}, known: newDurations()} }, l.restore)
	if errors.Is(err, sojourn.ErrForeignSnapshot) {
		l, err = lessons{data, map[sojourn.JobID]bool{}, newDurations()}, nil
	}
	if err == nil {
		err = w.account.UnmarshalBinary(l.account)
	}
	if err != nil {
		return err
	}
	if err := w.fit(&l); err != nil {
		return errors.Join(err, w.account.UnmarshalBinary(old))
	}
	w.known, w.crowd = l.known, newCrowd()
	for j := range w.account.Jobs() {
		w.crowd.enter(j.Spec.ID)
	}
	for id := range l.started { //sojourn:unordered each by itself
		w.crowd.start(id)
	}
	return nil
}

// lessons are what a snapshot has.
type lessons struct {
	account []byte
	started map[sojourn.JobID]bool
	known   durations
}

// UnmarshalBinary keeps the snapshot of an account.
func (l *lessons) UnmarshalBinary(data []byte) error {
	l.account = slices.Clone(data)
	return nil
}

func (l *lessons) restore(r *snapshot.Reader) {
	r.Binary(l)
	last := uint64(0)
	for range r.Len() {
		id := r.Uint()
		if !r.Check(id > last, "jobs are not in order") {
			return
		}
		l.started[sojourn.JobID(id)], last = true, id
	}
	l.known.restore(r)
}

// fit returns an error if what was read is of other jobs than those of the account.
func (w *Watch) fit(l *lessons) error {
	for id := range l.started { //sojourn:unordered any of them
		if _, live := w.account.Job(id); !live {
			return errors.New("forecast: snapshot: a job has started that is not live")
		}
	}
	for of := range l.known.live { //sojourn:unordered any of them
		j, live := w.account.Job(of.job)
		if !live || of.phase >= len(j.Spec.Phases) || len(j.Spec.Phases) > l.known.widest {
			return errors.New("forecast: snapshot: tasks of a phase have finished that is not live")
		}
	}
	for of, k := range l.known.kinds { //sojourn:unordered any of them
		for _, g := range k.groups {
			if j, _ := w.account.Job(g.job); l.known.live[phaseOf{g.job, of.phase}] == g && kindOfPhase(j.Spec, of.phase) != of {
				return errors.New("forecast: snapshot: a phase of a live job is of another kind")
			}
		}
	}
	return nil
}

// save writes the kinds, the one that was used last at the end, and then the groups of live jobs that are in no kind any more.
func (d *durations) save(w *snapshot.Writer) {
	for _, n := range []int{d.widest, d.used, d.finished, d.failed} {
		w.Count(n)
	}
	phase := map[*group]int{}   // of those of live jobs that are not written yet
	for of, g := range d.live { //sojourn:unordered it fills a map
		phase[g] = of.phase
	}
	w.Len(len(d.kinds))
	for _, k := range slices.SortedFunc(maps.Values(d.kinds), func(a, b *kind) int { return cmp.Compare(a.used, b.used) }) {
		w.String(k.of.name)
		w.Len(k.of.phase)
		w.Uint(uint64(k.of.class))
		w.Len(len(k.groups))
		for _, g := range k.groups {
			_, live := phase[g]
			delete(phase, g)
			w.Bool(live)
			g.save(w)
		}
	}
	rest := slices.SortedFunc(maps.Keys(phase), func(a, b *group) int { return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(phase[a], phase[b])) })
	w.Len(len(rest))
	for _, g := range rest {
		w.Len(phase[g])
		g.save(w)
	}
}

func (d *durations) restore(r *snapshot.Reader) {
	for _, n := range []*int{&d.widest, &d.used, &d.finished, &d.failed} {
		*n = r.Count()
	}
	r.Check(d.widest <= sojourn.MaxPhases, "a job has too many phases")
	n := r.Len()
	r.Check(n <= keptKinds, "there are too many kinds")
	last := 0
	for range n {
		k := &kind{of: kindOf{r.String(), r.Index(sojourn.MaxPhases), sojourn.Class(r.Below(sojourn.MaxClasses))}}
		groups := r.Len()
		if r.Err() != nil || !r.Check(groups > 0 && groups <= keptGroups && d.kinds[k.of] == nil, "a kind is there twice, or has no groups, or too many") {
			return
		}
		for range groups {
			live := r.Bool()
			g := restoreGroup(r, live)
			if r.Err() != nil || !r.Check(g.order > k.used && g.order <= d.used, "groups are not in order") || live && !d.enter(r, g, k.of.phase) {
				return
			}
			k.groups, k.used = append(k.groups, g), g.order
		}
		if !r.Check(k.used > last, "kinds are not in order") {
			return
		}
		d.kinds[k.of], last = k, k.used
	}
	var before phaseOf
	for i := range r.Len() {
		phase := r.Index(sojourn.MaxPhases)
		g := restoreGroup(r, true)
		of := phaseOf{g.job, phase}
		sorted := i == 0 || cmp.Or(cmp.Compare(before.job, of.job), cmp.Compare(before.phase, of.phase)) < 0
		if r.Err() != nil || !r.Check(sorted && g.order > 0 && g.order <= d.used, "groups are not in order") || !d.enter(r, g, phase) {
			return
		}
		before = of
	}
}

// enter notes that a group is of a live job.
func (d *durations) enter(r *snapshot.Reader, g *group, phase int) bool {
	of := phaseOf{g.job, phase}
	if !r.Check(d.live[of] == nil, "a phase has two groups") {
		return false
	}
	d.live[of] = g
	return true
}

// kept returns how many of n tasks a group keeps.
func kept(n int, live bool) int {
	if live {
		return min(n, keptLive)
	}
	return min(n, keptTasks)
}

func (g *group) save(w *snapshot.Writer) {
	w.Uint(uint64(g.job))
	w.Count(g.order)
	for scale := range numScales {
		m := &g.stats[scale]
		if w.Count(int(m.n)); m.n == 0 {
			continue
		}
		w.Float(m.mean)
		w.Float(m.about)
		for _, log := range g.tasks[scale] {
			w.Float(log)
		}
		if len(g.tasks[scale]) == keptLive {
			w.Len(g.next[scale])
		}
	}
}

// mostLog bounds the logarithms of times and of ratios.
const mostLog = 64

func restoreGroup(r *snapshot.Reader, live bool) *group {
	log := func() float64 {
		x := r.Float()
		r.Check(-mostLog < x && x < mostLog, "a time is out of range")
		return x
	}
	g := &group{job: sojourn.JobID(r.Uint()), order: r.Count()}
	for scale := range numScales {
		n := r.Count()
		g.stats[scale].n = float64(n)
		r.Check((n > 0 || scale != times) && uint64(n) <= 1<<53, "no task has finished, or too many")
		if n == 0 || r.Err() != nil {
			continue
		}
		g.stats[scale].mean = log()
		g.stats[scale].about = r.Float()
		r.Check(g.stats[scale].about >= 0 && g.stats[scale].about <= 4*mostLog*mostLog*float64(n), "times differ by too much")
		for range kept(n, live) {
			if g.tasks[scale] = append(g.tasks[scale], log()); r.Err() != nil {
				return g
			}
		}
		if len(g.tasks[scale]) == keptLive {
			g.next[scale] = r.Index(keptLive)
		}
	}
	r.Check(g.stats[ratios].n <= g.stats[times].n, "more tasks have an estimate than have finished")
	return g
}
