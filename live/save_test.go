package live_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// What a task may save, and a job: see Save.
const (
	maxSaved      = 4096
	maxSavedByJob = 65536
)

// A mortal disk ends its process at a write, of which so many bytes are there.
type mortal struct {
	*disk
	left, torn int
	died       chan struct{}
}

func (m *mortal) write(data []byte, call func([]byte) error) error {
	m.mu.Lock()
	if m.left--; m.left == 0 {
		close(m.died)
		defer m.end()
		data = data[:min(m.torn, len(data))]
	}
	m.mu.Unlock()
	err := call(data)
	if m.left == 0 {
		return errGone
	}
	return err
}

func (m *mortal) Append(n uint64, data []byte) error {
	return m.write(data, func(data []byte) error { return m.disk.Append(n, data) })
}

func (m *mortal) Create(n uint64, data []byte) error { // all or nothing
	return m.write(data, func(some []byte) error {
		if len(some) < len(data) {
			return nil
		}
		return m.disk.Create(n, data)
	})
}

func (m *mortal) Sync(n uint64) error {
	return m.write(nil, func([]byte) error { return m.disk.Sync(n) })
}

func (m *mortal) Remove(n uint64) error {
	return m.write(nil, func([]byte) error { return m.disk.Remove(n) })
}

// A savings is what the tasks of a job save: task i the values 0 to len(sizes[i])-1, one after the other, of these sizes.
type savings struct {
	sizes        [][]int
	acked, tried map[sojourn.TaskID]int // values that were acknowledged, and that Save was called with
	fails        bool                   // each second attempt fails at its end
	wrong        []string
}

// value returns the n-th value, counted from 1.
func (s *savings) value(task, n int) []byte {
	if n == 0 {
		return nil
	}
	data := bytes.Repeat([]byte{byte(n)}, s.sizes[task][n-1])
	return append(data, byte(task), byte(n))
}

// check reports what a task has saved, if it is not what it may be, and returns which value it is.
func (s *savings) check(where string, id sojourn.TaskID, got []byte) int {
	n := 0
	if len(got) > 0 {
		n = int(got[len(got)-1])
	}
	if n < s.acked[id] || n > s.tried[id] || !bytes.Equal(got, s.value(int(id.Index), n)) {
		s.wrong = append(s.wrong, fmt.Sprintf("%s: task %v has value %d (%d bytes): %d were acknowledged, %d tried", where, id, n, len(got), s.acked[id], s.tried[id]))
	}
	return n
}

func (s *savings) handler(ctx context.Context, t live.Task, _ []byte) error {
	for n := s.check(fmt.Sprint("attempt ", t.Attempt), t.TaskID, live.Saved(ctx)); n < len(s.sizes[t.Index]); {
		n++
		s.tried[t.TaskID] = n
		if err := live.Save(ctx, s.value(int(t.Index), n)); err != nil {
			return err
		}
		s.acked[t.TaskID] = n
		time.Sleep(time.Second)
	}
	if s.fails && t.Attempt%2 == 1 {
		return errors.New("the script says so")
	}
	return nil
}

// run runs the job with processes that end at the given write, of which so many bytes are there, until the job has ended, and then
// looks at it in one more. It reports whether a process ended.
func (s *savings) run(t interface{ Errorf(string, ...any) }, segment int64, writes, torn int) (ended bool) {
	s.acked, s.tried = map[sojourn.TaskID]int{}, map[sojourn.TaskID]int{}
	o := live.Options{Slots: 1, Handlers: map[string]live.Handler{"work": s.handler}, Retry: live.Retry{Attempts: 100, Deaths: -1}}
	d := &mortal{disk: newDisk(), left: writes, torn: torn, died: make(chan struct{})}
	there := 0 // jobs that a process has seen ended
	for n := 0; there < 1; n++ {
		d.gone = false
		j, err := journal.Open(d, newFIFO(), journal.Options{SnapshotBytes: segment})
		var p *live.Pool
		if err == nil {
			p, err = live.New(j, o)
		}
		if err == nil {
			var h *live.Handle
			h, err = p.Submit(bg, live.Job{Key: "one", Handler: "work", Phases: []live.Phase{{Tasks: len(s.sizes)}}})
			if errors.Is(err, live.ErrDuplicate) {
				err = nil
			}
			if err == nil {
				err = h.Wait(bg)
			}
			if err == nil {
				there++
				e, _ := h.Ended()
				for i := range s.sizes {
					id := sojourn.TaskID{Job: h.ID(), Index: uint32(i)}
					s.check("the handle", id, e.Saved[id.String()])
				}
			}
			hardStop(p)
		}
		if j != nil {
			_ = j.Close()
		}
		if err != nil && !ended {
			select {
			case <-d.died:
				ended = true
				continue
			default:
			}
		}
		if err != nil {
			t.Errorf("process %d: %v", n, err)
			return ended
		}
	}
	p, j := openDisk(d.disk, o)
	list := p.Ended()
	if len(list) != 1 || list[0].Outcome != live.Finished {
		t.Errorf("%+v are the ended jobs, want one that has finished", list)
		return ended
	}
	h, _ := p.Handle(list[0].ID)
	for i := range s.sizes {
		id := sojourn.TaskID{Job: list[0].ID, Index: uint32(i)}
		n := s.check("the ended job", id, list[0].Saved[id.String()])
		e, _ := h.Ended()
		if again := s.check("its handle", id, e.Saved[id.String()]); n != len(s.sizes[i]) || again != n {
			t.Errorf("task %d has succeeded with value %d and %d of %d", i, n, again, len(s.sizes[i]))
		}
	}
	if err := errors.Join(p.Close(bg), j.Close()); err != nil {
		t.Errorf("the last process: %v", err)
	}
	for _, line := range s.wrong {
		t.Errorf("%s", line)
	}
	return ended
}

// A process ends at each write of a job, before and after it: what was saved is there, in the next attempt and when the job has
// ended, also over the ends of segments.
func TestSavedAtEachWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, torn := range []int{0, 1 << 20} {
			n := 1
			for ; ; n++ {
				s := &savings{sizes: [][]int{{0, 90, 3}, {1, 0}}, fails: n%2 == 0}
				if ended := s.run(t, 300, n, torn); !ended || t.Failed() {
					break
				}
			}
			if n < 15 {
				t.Errorf("there were only %d writes", n)
			}
		}
	})
}

// The same for random jobs, segments, writes, and parts of a write.
func TestSavedAtRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &savings{sizes: rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, maxSaved-2), 0, 4), 1, 3).Draw(rt, "sizes"), fails: rapid.Bool().Draw(rt, "fails")}
		segment := rapid.Int64Range(300, 20_000).Draw(rt, "segment")
		writes, torn := rapid.IntRange(1, 60).Draw(rt, "writes"), rapid.IntRange(0, 5000).Draw(rt, "torn")
		synctest.Test(t, func(*testing.T) { s.run(rt, segment, writes, torn) })
	})
}

// What Save refuses changes nothing, with a journal and without one.
func TestSaveRefused(t *testing.T) {
	for _, durable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var kept context.Context
			o := live.Options{Slots: 1, Remember: 2, Retry: live.Retry{Attempts: 2}}
			h, d := (*live.Handle)(nil), newDisk()
			run := func(ctx context.Context, task live.Task, _ []byte) error {
				save := func(n int, fits bool) {
					before := live.Saved(ctx)
					if err := live.Save(ctx, make([]byte, n)); (err == nil) != fits || !fits && !bytes.Equal(live.Saved(ctx), before) {
						t.Errorf("task %v saves %d bytes: %v; it then has %d, and had %d", task.TaskID, n, err, len(live.Saved(ctx)), len(before))
					}
				}
				if task.Phase == 1 {
					<-ctx.Done() // the job is cancelled
					if err := live.Save(ctx, []byte("x")); !errors.Is(err, live.ErrCancelled) {
						t.Errorf("Save of a cancelled job = %v", err)
					}
					return ctx.Err()
				}
				save(maxSaved+1, false)
				switch room := maxSavedByJob - 15*(maxSaved+32); {
				case task.Index < 15:
					save(maxSaved, true)
				case task.Index == 15:
					save(1, true)
					save(room-32+1, false)
					save(room-32, true)
				default:
					save(1, false)
					save(0, true)
				}
				kept = ctx
				return nil
			}
			phases := []live.Phase{{Tasks: 17}, {Tasks: 1}}
			if durable {
				phases[0].Timeout = time.Hour
			}
			j := (*journal.Journal)(nil)
			var p *live.Pool
			o.Handlers = map[string]live.Handler{"run": run}
			if durable {
				p, j = openDisk(d, o)
			} else {
				p = must(live.New(newFIFO(), o))
			}
			h = must(p.Submit(bg, live.Job{Handler: "run", Phases: phases}))
			synctest.Wait()
			if err := live.Save(kept, []byte("late")); !errors.Is(err, context.Canceled) {
				t.Errorf("Save after the task has returned = %v", err)
			}
			if got := live.Saved(kept); got != nil {
				t.Errorf("Saved after the task has returned = %d bytes", len(got))
			}
			before, ended := h.Ended()
			if len(before.Saved) != 16 || ended {
				t.Errorf("%d tasks of the live job have saved something, want 16; it has ended: %t", len(before.Saved), ended)
			}
			h.Cancel()
			wantError(t, "Wait", h.Wait(bg), live.ErrCancelled)
			after, _ := h.Ended()
			again, _ := handle(p, h.ID()).Ended()
			for _, e := range []live.Ended{after, again, p.Ended()[0]} {
				if !maps.EqualFunc(e.Saved, before.Saved, bytes.Equal) {
					t.Errorf("%d tasks of the ended job have saved something, want 16", len(e.Saved))
				}
			}
			for range 2 { // and the job is forgotten
				h := must(p.Submit(bg, live.Job{Handler: "run", Phases: phases}))
				time.Sleep(time.Second)
				h.Cancel()
				_ = h.Wait(bg)
			}
			if err := p.Close(bg); err != nil {
				t.Error(err)
			}
			if durable {
				n := 0
				for key := range j.Kept() {
					if key[0] == 's' {
						n++
					}
				}
				if n != 2*16 {
					t.Errorf("%d tasks have something kept, want those of the two jobs that are remembered", n)
				}
				_ = j.Close()
			}
		})
	}
}

// Without a journal the next attempt reads what the one before has saved, also one that was stopped.
func TestSavedByPreempted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 1}))
		h := must(p.Submit(bg, bag(1, func(ctx context.Context, task live.Task) error {
			if task.Attempt == 2 {
				if got := live.Saved(ctx); string(got) != "half" {
					t.Errorf("Saved = %q, want half", got)
				}
				return nil
			}
			<-ctx.Done()
			return errors.Join(live.Save(ctx, []byte("half")), ctx.Err())
		})))
		time.Sleep(time.Second)
		must(p.AddSlots(1, sojourn.Slot{}))
		if err := errors.Join(p.Remove(0), h.Wait(bg), p.Close(bg)); err != nil {
			t.Error(err)
		}
	})
}

// handle returns the handle of a job that there is.
func handle(p *live.Pool, id sojourn.JobID) *live.Handle {
	h, _ := p.Handle(id)
	return h
}
