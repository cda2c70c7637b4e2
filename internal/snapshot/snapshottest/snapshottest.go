package snapshottest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/snapshot"
)

// Forge is the first part of [Attack], which is to take its place. It offers to new policies snapshots of which some bytes were changed and the
// checksum made good, n of them, spread over a history of 60 jobs on map and reduce
// slots. Each must be refused, or else be what the restored policy saves in turn:
// what is accepted was understood to the last bit. Nothing may make a policy panic.
//
// The history suits policies of jobs of one or two phases with estimates; jobs that
// the policy refuses are left out.
func Forge(t *testing.T, newPolicy func() sojourn.Policy, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	h := history{t: t, p: newPolicy(), rng: rng, running: make(map[sojourn.SlotID]sojourn.Assignment)}
	refused, accepted := 0, 0
	for range 60 {
		h.grow()
		data := h.save(h.p)
		for range n / 60 {
			bad := slices.Clone(data)
			body := bad[16 : len(bad)-4]
			for range 1 + rng.IntN(3) {
				body[rng.IntN(len(body))] = byte(rng.Uint32() >> rng.IntN(8))
			}
			snapshot.Seal(bad)
			p := newPolicy()
			s, _ := sojourn.As[sojourn.Snapshotter](p)
			if s.UnmarshalBinary(slices.Clone(bad)) != nil {
				refused++
				continue
			}
			accepted++
			if again := h.save(p); !bytes.Equal(again, bad) {
				i := 0
				for i < min(len(again), len(bad)) && again[i] == bad[i] {
					i++
				}
				t.Fatalf("a policy that was restored from %d bytes saves %d, which differ from byte %d on:\n%.40q, want\n%.40q", len(bad), len(again), i, again[i:], bad[i:])
			}
		}
	}
	if refused == 0 || accepted == 0 {
		t.Errorf("%d snapshots were refused and %d accepted, want some of both", refused, accepted)
	}
}

// A history is what a policy goes through.
type history struct {
	t       *testing.T
	p       sojourn.Policy
	rng     *rand.Rand
	now     sojourn.Time
	id      uint32
	running map[sojourn.SlotID]sojourn.Assignment
}

func (h *history) save(p sojourn.Policy) []byte {
	s, ok := sojourn.As[sojourn.Snapshotter](p)
	if !ok {
		h.t.Fatalf("a %T is no Snapshotter", p)
	}
	data, err := s.AppendBinary(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return data
}

// grow adds two slots and a job, starts what can start, and ends some of it.
func (h *history) grow() {
	h.now += sojourn.Time(h.rng.Int64N(int64(10 * time.Second)))
	h.id++
	node := sojourn.NodeID(1 + h.id%7)
	for class := range sojourn.Class(2) {
		h.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(2*h.id) + sojourn.SlotID(class), Node: node, Rack: sojourn.RackID(node % 2), Class: class}})
	}
	tasks := 1 + h.rng.IntN(70)
	inputs := make([][]sojourn.NodeID, tasks)
	for i := range inputs {
		inputs[i] = []sojourn.NodeID{sojourn.NodeID(1 + h.rng.IntN(7))}
	}
	job := &sojourn.Job{
		ID: sojourn.JobID(h.id), Name: "job", Pool: []string{"", "a", "b"}[h.id%3], Weight: float64(1 + h.id%4),
		Deadline: h.now.Add(time.Hour),
		Phases: []sojourn.Phase{
			{Tasks: tasks, Estimate: 10 * time.Second, Inputs: sojourn.MakeInputs(inputs)},
			{Tasks: 3, Class: sojourn.Reduce, Estimate: time.Second},
		},
	}
	h.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	h.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: job.ID}})
	if h.id%9 == 0 {
		h.observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: node}})
	}
	if h.id%11 == 0 {
		h.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: job.ID / 2}})
	}
	for id := range sojourn.SlotID(2*h.id + 2) {
		if a, busy := h.running[id]; busy && h.rng.IntN(3) == 0 {
			kind := []sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed}[h.rng.IntN(3)]
			h.observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}, Service: time.Second})
			delete(h.running, id)
		}
		if _, busy := h.running[id]; !busy && id > 1 {
			if a, ok := h.p.Assign(id); ok {
				h.running[id] = a
			}
		}
	}
}

// observe reports an event, which need not fit.
func (h *history) observe(ev sojourn.Event) {
	ev.At = h.now
	h.p.Observe(ev)
}
