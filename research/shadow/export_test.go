package shadow

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Inside returns the policy that the lock guards.
func (s *Shadow) Inside() sojourn.Policy { return s.pair }

// InsideAs is the method As of that policy.
func (s *Shadow) InsideAs(target any) bool { return s.pair.As(target) }

// CandidateLive returns how many jobs the candidate knows.
func (s *Shadow) CandidateLive() int { return s.watch.candidate.Live() }

// Believes tests that the candidate has the attempts and jobs that are there, except those that it refused.
func (s *Shadow) Believes(t *testing.T) {
	t.Helper()
	w := s.watch
	attempts, live := 0, 0
	for at := range w.truth.Attempts() {
		got, ok := w.candidate.Attempt(at.Slot.ID)
		if away := w.places[at.Slot.ID].away; ok == away || ok && got.Task != at.Task || away && !w.foreign[at.Task.Job] {
			t.Fatalf("slot %d runs %v, and the candidate has %+v there; away: %v", at.Slot.ID, at.Task, got, away)
		}
		if ok {
			attempts++
		}
	}
	for range w.candidate.Attempts() {
		attempts--
	}
	slots := 0
	for s := range w.truth.Slots() {
		if p := w.places[s.ID]; p.slot != s {
			t.Fatalf("slot %+v is kept as %+v", s, p.slot)
		} else if !p.away {
			slots++
		}
	}
	for range w.candidate.Slots() {
		slots--
	}
	if slots != 0 {
		t.Fatalf("the candidate has %d slots that are not there", -slots)
	}
	for j := range w.truth.Jobs() {
		got, ok := w.candidate.Job(j.Spec.ID)
		if foreign := w.foreign[j.Spec.ID]; foreign && ok && !got.Cancelled || !foreign && (!ok || got.Left != j.Left || got.Held != j.Held) {
			t.Fatalf("job %+v is %+v to the candidate; refused: %v", j, got, foreign)
		}
		if ok {
			live++
		}
	}
	if attempts != 0 || live != w.candidate.Live() || len(w.foreign) > w.truth.Live() || len(w.records) != w.truth.Live() {
		t.Fatalf("the candidate has %d more attempts; %d live jobs, the candidate has %d; %d refused, %d records of %d", -attempts, live,
			w.candidate.Live(), len(w.foreign), len(w.records), w.truth.Live())
	}
}

// The first job of a prediction arrives at 0, and deadlines stay as far from the arrivals as they were.
func TestReplayed(t *testing.T) {
	spec := &sojourn.Job{ID: 7, Deadline: sojourn.Time(150 * time.Second), Phases: []sojourn.Phase{{Tasks: 1, Held: true}}}
	times := [][]time.Duration{{time.Second}}
	at := func(d time.Duration) *record { return &record{spec: spec, at: sojourn.Time(d), times: times} }
	n := 0
	for j, err := range replayed([]*record{at(100 * time.Second), at(120 * time.Second)}) {
		want := sojourn.Time(n) * sojourn.Time(20*time.Second)
		n++
		if err != nil || j.At != want || j.Deadline != sojourn.Time(50*time.Second) || j.ID != sojourn.JobID(n) || j.Phases[0].Held || !spec.Phases[0].Held {
			t.Errorf("job %d: %+v, %v", n, j, err)
		}
	}
}
