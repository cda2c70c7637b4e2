package queue

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A key orders phases by the estimate of the task that they would start, the shortest
// first, then by arrival and number.
type key struct {
	estimate time.Duration
	seq      uint64
	phase    int
}

// newQueue returns a queue in which jobs of odd weight may not start, and phases with
// estimates start their longest task first.
func newQueue() *Phases[bool, key] {
	return NewPhases(PhaseOrder[bool, key]{
		Key: func(j *ledger.Job[bool], phase int, task uint32) (key, bool) {
			return key{j.Spec().Phases[phase].EstimateOf(int(task)), j.Seq(), phase}, j.Data
		},
		Less: func(a, b key) bool {
			return cmp.Or(cmp.Compare(a.estimate, b.estimate), cmp.Compare(a.seq, b.seq), cmp.Compare(a.phase, b.phase)) < 0
		},
		Within: func(ph *sojourn.Phase) func(a, b uint32) int {
			if ph.Estimates == nil {
				return nil
			}
			return func(a, b uint32) int { return -cmp.Compare(ph.EstimateOf(int(a)), ph.EstimateOf(int(b))) }
		},
	})
}

func mayStart(spec *sojourn.Job) bool { return int(spec.Weight)%2 == 0 }

// A world is the same account, as simple as possible: tasks and their states.
type world struct {
	jobs []*modelJob // by arrival
	seq  uint64
	free [2][]sojourn.SlotID // by class
	live map[sojourn.SlotID]sojourn.Assignment
}

type modelJob struct {
	spec      *sojourn.Job
	seq       uint64
	states    [][]state // by phase and task
	tries     map[[2]int]uint32
	cancelled bool
}

type state uint8

const (
	pending state = iota
	running
	held
	done
)

func (j *modelJob) count(phase int, s state) (n int) {
	for _, is := range j.states[phase] {
		if is == s {
			n++
		}
	}
	return n
}

func (j *modelJob) ready(phase int) bool {
	return phase == 0 || j.spec.Phases[phase].After == sojourn.NoBarrier || j.count(phase-1, done) >= j.spec.Threshold(phase)
}

// first returns the key of a phase and its next task; false if there is none.
func (j *modelJob) first(phase int) (k key, task int, ok bool) {
	ph := &j.spec.Phases[phase]
	for i, s := range j.states[phase] {
		if s == pending && (!ok || ph.Estimates != nil && ph.EstimateOf(i) > ph.EstimateOf(task)) {
			task, ok = i, true
		}
	}
	if !ok {
		return key{}, 0, false
	}
	return key{ph.EstimateOf(task), j.seq, phase}, task, true
}

func (k key) before(l key) bool {
	switch {
	case k.estimate != l.estimate:
		return k.estimate < l.estimate
	case k.seq != l.seq:
		return k.seq < l.seq
	}
	return k.phase < l.phase
}

// next returns what starts next on a slot of a class.
func (w *world) next(c sojourn.Class) (id sojourn.TaskID, ok bool) {
	var least key
	for _, j := range w.jobs {
		for i := range j.states {
			if k, task, any := j.first(i); any && !j.cancelled && j.ready(i) && j.spec.Phases[i].Class == c && mayStart(j.spec) && (!ok || k.before(least)) {
				least, ok = k, true
				id = sojourn.TaskID{Job: j.spec.ID, Phase: uint16(i), Index: uint32(task)}
			}
		}
	}
	return id, ok
}

// ranking returns the live jobs, by the least key of a phase that is ready, or otherwise
// of one that is not; then the jobs without a key, by arrival.
func (w *world) ranking() (list []sojourn.JobID) {
	type entry struct {
		id  sojourn.JobID
		key key
	}
	var keyed []entry
	var others []sojourn.JobID
	for _, j := range w.jobs {
		if j.cancelled {
			continue
		}
		var least [2]*key
		for i := range j.states {
			if k, _, ok := j.first(i); ok && mayStart(j.spec) {
				at := 1
				if j.ready(i) {
					at = 0
				}
				if least[at] == nil || k.before(*least[at]) {
					least[at] = &k
				}
			}
		}
		if k := cmp.Or(least[0], least[1]); k != nil {
			keyed = append(keyed, entry{j.spec.ID, *k})
		} else {
			others = append(others, j.spec.ID)
		}
	}
	slices.SortFunc(keyed, func(a, b entry) int {
		if a.key.before(b.key) {
			return -1
		}
		return 1
	})
	for _, e := range keyed {
		list = append(list, e.id)
	}
	return append(list, others...)
}

func TestQueueAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue()
		w := &world{live: map[sojourn.SlotID]sojourn.Assignment{}}
		observe := func(ev sojourn.Event) {
			if err := q.Ledger.Check(&ev); err != nil {
				t.Fatalf("Check(%v) = %v", ev, err)
			}
			c := q.Apply(&ev)
			if c.Job != nil {
				c.Job.Data = mayStart(c.Job.Spec())
			}
			q.File(&ev, c)
		}
		for id := range sojourn.SlotID(6) {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Class: sojourn.Class(id % 2)}})
			w.free[id%2] = append(w.free[id%2], id)
		}
		forget := func() {
			w.jobs = slices.DeleteFunc(w.jobs, func(j *modelJob) bool {
				left := 0
				for i := range j.states {
					if left += j.count(i, running); !j.cancelled {
						left += j.count(i, pending) + j.count(i, held)
					}
				}
				return left == 0
			})
		}
		job := func(t *rapid.T) *modelJob {
			live := slices.DeleteFunc(slices.Clone(w.jobs), func(j *modelJob) bool { return j.cancelled })
			if len(live) == 0 {
				t.Skip("no job")
			}
			return rapid.SampledFrom(live).Draw(t, "job")
		}
		estimate := rapid.Map(rapid.IntRange(0, 4), func(n int) time.Duration { return time.Duration(n) })
		describe := func(t *rapid.T, id sojourn.JobID, old *sojourn.Job) *sojourn.Job {
			spec := &sojourn.Job{ID: id, Weight: float64(rapid.IntRange(2, 4).Draw(t, "weight"))}
			phases := rapid.IntRange(1, 3).Draw(t, "phases")
			if old != nil {
				phases = len(old.Phases)
			}
			for i := range phases {
				ph := sojourn.Phase{Tasks: rapid.IntRange(1, 5).Draw(t, "tasks"), Class: sojourn.Class(rapid.IntRange(0, 1).Draw(t, "class"))}
				if old != nil {
					ph.Tasks, ph.Class = old.Phases[i].Tasks, old.Phases[i].Class
				}
				if i > 0 {
					ph.After = min(rapid.SampledFrom([]int{0, 1, 2, sojourn.NoBarrier}).Draw(t, "after"), spec.Phases[i-1].Tasks)
				}
				if ph.Estimate = estimate.Draw(t, "estimate"); rapid.Bool().Draw(t, "estimates") {
					ph.Estimates = rapid.SliceOfN(estimate, ph.Tasks, ph.Tasks).Draw(t, "each")
				}
				spec.Phases = append(spec.Phases, ph)
			}
			return spec
		}
		// move picks a task that is in some state, and puts it into another.
		move := func(t *rapid.T, j *modelJob, from, to state) sojourn.TaskID {
			var list [][2]int
			for i, states := range j.states {
				for k, s := range states {
					if s == from {
						list = append(list, [2]int{i, k})
					}
				}
			}
			if len(list) == 0 {
				t.Skip("no such task")
			}
			at := rapid.SampledFrom(list).Draw(t, "task")
			j.states[at[0]][at[1]] = to
			return sojourn.TaskID{Job: j.spec.ID, Phase: uint16(at[0]), Index: uint32(at[1])}
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				w.seq++
				j := &modelJob{spec: describe(t, sojourn.JobID(w.seq), nil), seq: w.seq, tries: map[[2]int]uint32{}}
				for i := range j.spec.Phases {
					j.states = append(j.states, make([]state, j.spec.Phases[i].Tasks))
				}
				w.jobs = append(w.jobs, j)
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j.spec})
			},
			"revise": func(t *rapid.T) {
				j := job(t)
				j.spec = describe(t, j.spec.ID, j.spec)
				observe(sojourn.Event{Kind: sojourn.JobRevised, Job: j.spec})
			},
			"cancel": func(t *rapid.T) {
				j := job(t)
				j.cancelled = true
				observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: j.spec})
				forget()
			},
			"hold": func(t *rapid.T) {
				observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: move(t, job(t), pending, held)})
			},
			"release": func(t *rapid.T) {
				observe(sojourn.Event{Kind: sojourn.TaskReady, Task: move(t, job(t), held, pending)})
			},
			"lose": func(t *rapid.T) {
				j := job(t)
				id := move(t, j, done, pending)
				observe(sojourn.Event{Kind: sojourn.OutputLost, Task: id, Attempt: j.tries[[2]int{int(id.Phase), int(id.Index)}]})
			},
			"assign": func(t *rapid.T) {
				c := sojourn.Class(rapid.IntRange(0, 1).Draw(t, "class"))
				if len(w.free[c]) == 0 {
					t.Skip("no free slot")
				}
				slot := slices.Min(w.free[c])
				want, ok := w.next(c)
				if id, any := q.Seek(c); any != ok || any && id != slot {
					t.Fatalf("Seek(%d) = %d, %v, want %d, %v", c, id, any, slot, ok)
				}
				a, any := q.Assign(slot)
				if any != ok || any && a.Task != want {
					t.Fatalf("Assign = %v, %v, want %v, %v", a.Task, any, want, ok)
				}
				if !ok {
					return
				}
				for _, j := range w.jobs {
					if j.spec.ID == want.Job {
						j.states[want.Phase][want.Index] = running
						j.tries[[2]int{int(want.Phase), int(want.Index)}] = a.Attempt
					}
				}
				w.live[slot] = a
				w.free[c] = slices.DeleteFunc(w.free[c], func(id sojourn.SlotID) bool { return id == slot })
			},
			"end": func(t *rapid.T) {
				slot := sojourn.SlotID(rapid.IntRange(0, 5).Draw(t, "slot"))
				a, ok := w.live[slot]
				if !ok {
					t.Skip("nothing runs")
				}
				kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed}).Draw(t, "kind")
				for _, j := range w.jobs {
					if j.spec.ID == a.Task.Job {
						is := pending
						if kind == sojourn.TaskFinished {
							is = done
						}
						j.states[a.Task.Phase][a.Task.Index] = is
					}
				}
				delete(w.live, slot)
				w.free[slot%2] = append(w.free[slot%2], slot)
				observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: slot}})
				forget()
			},
			"restart": func(t *rapid.T) {
				data, err := snapshot.Append(nil, snapshot.Header{}, func(w *snapshot.Writer) { q.Save(w, nil) })
				if err != nil {
					t.Fatal(err)
				}
				err = snapshot.Restore(&q, data, snapshot.Header{}, func() { q = newQueue() }, func(r *snapshot.Reader) {
					q.Restore(r, func(j *ledger.Job[bool]) { j.Data = mayStart(j.Spec()) })
				})
				if err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				want := w.ranking()
				if got := q.AppendRanking(nil); !slices.Equal(got, want) {
					t.Fatalf("ranking = %v, want %v", got, want)
				}
				for _, j := range w.jobs {
					if got, want := q.Rank(q.Ledger.Job(j.spec.ID)), slices.Index(want, j.spec.ID); got != want {
						t.Fatalf("Rank of %d = %d, want %d", j.spec.ID, got, want)
					}
				}
			},
		})
	})
}

// Jobs are ranked by the phases that they can start, and only then by phases that they
// have to wait for: job 1 comes last since its first phase is long, although a short one
// follows it.
func TestRankingGoesByWhatIsReady(t *testing.T) {
	q := newQueue()
	for _, spec := range []*sojourn.Job{
		{ID: 1, Weight: 2, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 9}, {Tasks: 1, Estimate: 1}}},
		{ID: 2, Weight: 2, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 5}}},
		{ID: 3, Weight: 3, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 2}}}, // may not start
		{ID: 4, Weight: 2, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 4}}},
	} {
		ev := sojourn.Event{Kind: sojourn.JobArrived, Job: spec}
		c := q.Apply(&ev)
		c.Job.Data = mayStart(spec)
		q.File(&ev, c)
	}
	if got, want := q.AppendRanking(nil), []sojourn.JobID{4, 2, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("ranking = %v, want %v", got, want)
	}
}
