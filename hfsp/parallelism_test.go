package hfsp_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
)

// A job asks for no more slots of others than it may use at a time, in all its phases and classes together.
func TestBoundedJobsClaimWhatTheyMayUse(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Second} {
		for _, tc := range []struct {
			bound uint32
			want  int
		}{{0, 6}, {1, 1}, {2, 2}, {3, 3}, {5, 5}, {99, 6}} {
			s := stage{t, exact(hfsp.Options{Preemption: hfsp.KillAny, NodeDelay: delay})}
			s.slots(0, 9)
			for i := range 3 {
				s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Class: sojourn.ReduceClass}})
			}
			s.arrive(0, 1, sojourn.Phase{Tasks: 9, Class: sojourn.ReduceClass, Estimate: time.Hour})
			s.arrive(0, 2, sojourn.Phase{Tasks: 9, Class: 2, Estimate: time.Hour})
			for i := range 3 {
				s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(20 + i), Class: 2}})
				s.assign(sojourn.SlotID(i), 1)
				s.assign(sojourn.SlotID(20+i), 2)
			}
			s.observe(1, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 3, Parallelism: tc.bound, Phases: []sojourn.Phase{
				{Tasks: 2, Class: sojourn.ReduceClass, Estimate: time.Second},
				{Tasks: 1, Class: sojourn.ReduceClass, Estimate: time.Second, After: sojourn.NoBarrier},
				{Tasks: 7, Class: 2, Estimate: time.Second, After: sojourn.NoBarrier},
			}}})
			if list := s.p.AppendPreemptions(nil); len(list) != tc.want {
				t.Errorf("delay %v, parallelism %d: %d slots are claimed, want %d: %+v", delay, tc.bound, len(list), tc.want, list)
			}
		}
	}
}
