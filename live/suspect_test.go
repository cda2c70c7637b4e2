package live_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// A disk keeps what a process has written when that process ends.
type disk struct {
	mu       sync.Mutex
	segments map[uint64][]byte
	gone     bool // the process has ended, and writes nothing more
}

func newDisk() *disk { return &disk{segments: map[uint64][]byte{}} }

var errGone = errors.New("the process has ended")

func (d *disk) change(f func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone {
		return errGone
	}
	f()
	return nil
}

func (d *disk) Segments() ([]uint64, error) { return slices.Sorted(maps.Keys(d.segments)), nil }
func (d *disk) Name(n uint64) string        { return fmt.Sprint("segment ", n) }
func (d *disk) Read(n uint64) ([]byte, error) {
	if d.segments[n] == nil {
		return nil, fs.ErrNotExist
	}
	return slices.Clone(d.segments[n]), nil
}
func (d *disk) Create(n uint64, data []byte) error {
	return d.change(func() { d.segments[n] = slices.Clone(data) })
}
func (d *disk) Append(n uint64, data []byte) error {
	return d.change(func() { d.segments[n] = append(d.segments[n], data...) })
}
func (d *disk) Sync(uint64) error     { return d.change(func() {}) }
func (d *disk) Remove(n uint64) error { return d.change(func() { delete(d.segments, n) }) }
func (d *disk) Close() error          { return nil }

// A world is processes on one disk, one after the other. Each ends as soon as a task ends it.
type world struct {
	*disk
	died    chan struct{}
	open    chan struct{}           // closed when all jobs are there
	running map[sojourn.TaskID]bool // in this process
	lost    map[sojourn.TaskID]int  // attempts that ran when a process ended
	ended   map[string]int          // processes that a payload has ended
	suspect map[sojourn.TaskID]bool // that ran when a process ended, and not since
	alone   sojourn.TaskID          // a suspect that runs
	beside  []string                // what was started beside a suspect
	starts  []string
}

func newWorld() *world {
	return &world{disk: newDisk(), lost: map[sojourn.TaskID]int{}, ended: map[string]int{}, suspect: map[sojourn.TaskID]bool{}}
}

// die ends the process.
func (w *world) die(payload string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return
	}
	w.gone = true
	w.ended[payload]++
	for id := range w.running {
		w.lost[id]++
		w.suspect[id] = true
	}
	close(w.died)
}

func (w *world) losses(id sojourn.TaskID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost[id]
}

// handler runs a task of the world: "KIND DURATION SCRIPT". A good one takes that time. A poison ends its process after it. The first attempt
// of a flapping poison that does not run beside others fails, and the others end the process. A
// script says for each attempt whether it ends the process (x), fails (e), or succeeds.
func (w *world) handler(ctx context.Context, t live.Task, payload []byte) error {
	var kind string
	var takes time.Duration
	var text, script string
	fmt.Sscan(string(payload), &kind, &text, &script)
	takes = must(time.ParseDuration(text))
	<-w.open
	begun := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.gone {
			return false
		}
		if w.alone != (sojourn.TaskID{}) {
			w.beside = append(w.beside, fmt.Sprintf("%v beside %v", t.TaskID, w.alone))
		}
		if w.suspect[t.TaskID] {
			w.alone = t.TaskID
		}
		w.running[t.TaskID] = true
		w.starts = append(w.starts, fmt.Sprint(t.TaskID))
		return true
	}()
	if !begun {
		return errGone
	}
	err := sleep(takes)(ctx, t)
	if err == nil {
		switch {
		case kind == "script" && script[(t.Attempt-1)%uint32(len(script))] == 'e':
			err = errors.New("the script says so")
		case kind == "script" && script[(t.Attempt-1)%uint32(len(script))] == '.':
		case kind == "poison", kind == "script", kind == "flapping" && w.losses(t.TaskID) != 1:
			w.die(fmt.Sprint(t.TaskID))
			<-ctx.Done()
			return ctx.Err()
		case kind == "flapping":
			err = errors.New("by chance")
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gone {
		delete(w.running, t.TaskID)
		delete(w.suspect, t.TaskID)
		if w.alone == t.TaskID {
			w.alone = sojourn.TaskID{}
		}
	}
	return err
}

// process runs until all jobs have ended or a task has ended it. It reports which. The jobs are submitted if there are any.
func (w *world) process(t *testing.T, o live.Options, jobs ...live.Job) (over bool) {
	w.gone, w.died, w.open, w.running, w.alone = false, make(chan struct{}), make(chan struct{}), map[sojourn.TaskID]bool{}, sojourn.TaskID{}
	o.Handlers = map[string]live.Handler{"work": w.handler}
	j := must(journal.Open(w, newFIFO(), journal.Options{SnapshotBytes: 2000}))
	p := must(live.New(j, o))
	for _, job := range jobs {
		must(p.Submit(bg, job))
	}
	close(w.open)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(bg)
	go func() {
		for _, h := range p.Handles() {
			_ = h.Wait(ctx)
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-w.died:
	}
	w.mu.Lock()
	over = !w.gone
	w.mu.Unlock()
	cancel()
	hard, stop := context.WithCancel(bg)
	stop()
	if err := p.Close(hard); over && err != nil {
		t.Error(err)
	}
	_ = j.Close()
	return over
}

// Every history of a small world: three jobs, good ones and ones that end their process, on one to three slots. A payload ends at most
// as many processes as Retry.Deaths says, a good task is done and has lost at most one attempt, and nothing is started beside a suspect.
func TestPoison(t *testing.T) {
	kinds := []string{"good 1s", "good 3s", "poison 0s", "poison 2s", "flapping 1s"}
	n := len(kinds)
	for i := range n * n * n * 9 {
		list := []string{kinds[i%n], kinds[i/n%n], kinds[i/n/n%n]}
		slots, deaths := 1+i/n/n/n%3, 1+i/n/n/n/3%3
		synctest.Test(t, func(t *testing.T) {
			what := fmt.Sprintf("%d slots, %d deaths, %q", slots, deaths, list)
			w := newWorld()
			ends := map[string]error{}
			o := live.Options{Slots: slots, Retry: live.Retry{Deaths: deaths, Attempts: 2}, Observer: noteFunc(func(n live.Note) {
				if n.Kind == live.JobEnded && !errors.Is(n.Err, errGone) && !errors.Is(n.Err, live.ErrClosed) {
					ends[fmt.Sprint(n.Job.ID)] = n.Err
				}
			})}
			var jobs []live.Job
			for _, payload := range list {
				jobs = append(jobs, live.Job{Handler: "work", Payload: []byte(payload), Phases: []live.Phase{{Tasks: 1}}})
			}
			over := w.process(t, o, jobs...)
			for processes := 1; !over; processes++ {
				if processes > 3*deaths {
					t.Fatalf("%s: %d processes have ended: %v", what, processes, w.ended)
				}
				over = w.process(t, o)
			}
			for payload, n := range w.ended {
				if n > deaths {
					t.Errorf("%s: task %s has ended %d processes", what, payload, n)
				}
			}
			if len(w.beside) > 0 && deaths > 1 {
				t.Errorf("%s: %v", what, w.beside)
			}
			for k, payload := range list {
				id := sojourn.TaskID{Job: sojourn.JobID(k + 1)}
				err, told := ends[fmt.Sprint(k+1)]
				switch {
				case !told:
					t.Errorf("%s: nobody knows what became of job %d", what, k+1)
				case payload[0] == 'g' && (deaths > 1 && err != nil || w.lost[id] > 1):
					t.Errorf("%s: job %d has lost %d attempts: %v", what, k+1, w.lost[id], err)
				case payload[0] == 'p' && !errors.Is(err, live.ErrDead):
					t.Errorf("%s: job %d has ended with %v", what, k+1, err)
				}
			}
		})
	}
}

// A task that fails between the processes that it ends is bounded as well: it runs alone until it succeeds.
func TestFlappingPoison(t *testing.T) {
	const length = 5
	for i := range 1 << length {
		script := []byte("xxxxx")
		for k := range script {
			if i>>k&1 == 1 {
				script[k] = 'e'
			}
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			o := live.Options{Slots: 2, Retry: live.Retry{Attempts: 100}}
			job := live.Job{Handler: "work", Payload: append([]byte("script 1s "), script...), Phases: []live.Phase{{Tasks: 1}}}
			over := w.process(t, o, job)
			for n := 0; !over && n < 20; n++ {
				over = w.process(t, o)
			}
			want := min(3, bytes.Count(script, []byte("x"))*20)
			if got := w.ended["1/0/0"]; !over || got != want {
				t.Errorf("%s has ended %d processes, want %d", script, got, want)
			}
		})
	}
}

// A suspect runs alone for as long as Probation says, and then others start beside it. If the next suspect ends the process alone,
// those that had passed are none any more. One that ends its process after its probation gets twice the time.
func TestProbation(t *testing.T) {
	run := func(t *testing.T, o live.Options, payloads ...string) *world {
		w := newWorld()
		var jobs []live.Job
		for _, payload := range payloads {
			jobs = append(jobs, live.Job{Handler: "work", Payload: []byte(payload), Phases: []live.Phase{{Tasks: 1}}})
			if payload == "good 7s" { // many
				jobs[len(jobs)-1].Phases[0].Tasks = 100
			}
		}
		over := w.process(t, o, jobs...)
		for n := 0; !over; n++ {
			if n > 20 {
				t.Fatalf("%v ends processes for ever: %v", payloads, w.ended)
			}
			over = w.process(t, o)
		}
		return w
	}
	id := func(job sojourn.JobID) sojourn.TaskID { return sojourn.TaskID{Job: job} }
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		w := run(t, live.Options{Slots: 2, Probation: 10 * time.Second}, "script 100s .", "script 1s x.", "good 1s")
		// 1 s, then 10 s for job 1 alone, 1 s for job 2 alone, and job 3 beside job 1.
		if got := time.Since(begun); got != 101*time.Second || len(w.beside) != 1 {
			t.Errorf("all has ended after %v; %v", got, w.beside)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := run(t, live.Options{Slots: 2, Probation: 10 * time.Second}, "good 100s", "poison 5s")
		// Processes 1 and 2 take an attempt at the long one along. In process 3 the poison is the only suspect.
		if w.lost[id(1)] != 2 || w.lost[id(2)] != 3 {
			t.Errorf("lost: %v", w.lost)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := run(t, live.Options{Slots: 2, Probation: 10 * time.Second}, "poison 99s", "good 7s")
		// Alone for 10, 20, 40 and 80 s it survives, and then it ends two processes within 160 s.
		if w.lost[id(1)] != 1+4+2 {
			t.Errorf("lost: %v", w.lost)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := run(t, live.Options{Slots: 2, Probation: -1}, "poison 1000h", "good 1500h")
		if w.lost[id(1)] != 3 || w.lost[id(2)] != 1 || len(w.beside) > 0 {
			t.Errorf("lost: %v, %v", w.lost, w.beside)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the innocent one is not kept waiting
		w := run(t, live.Options{Slots: 2}, "poison 1s", "good 3s")
		if w.lost[id(1)] != 3 || w.lost[id(2)] != 1 {
			t.Errorf("lost: %v", w.lost)
		}
		if order := []string{"1/0/0", "2/0/0", "1/0/0"}; !slices.Equal(w.starts[2:], order) {
			t.Errorf("starts: %v", w.starts)
		}
	})
}

// A process may end while New enters what the one before has taken along, at any byte: each attempt that was lost is counted once.
func TestLostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		o := live.Options{Slots: 2}
		job := live.Job{Handler: "work", Payload: []byte("poison 1s"), Phases: []live.Phase{{Tasks: 2}}}
		w.process(t, o, job)
		before := maps.Clone(w.segments)
		w.process(t, o)
		var n uint64
		for k := range w.segments {
			n = max(n, k)
		}
		after := w.segments[n]
		for end := len(before[n]); end <= len(after); end++ {
			d := newDisk()
			d.segments[n] = after[:end:end]
			j := must(journal.Open(d, newFIFO(), journal.Options{}))
			attempts := map[sojourn.TaskID]uint32{}
			for i := range uint32(2) {
				id := sojourn.TaskID{Job: 1, Index: i}
				_, attempts[id] = j.Account().Task(id)
			}
			wait := func(ctx context.Context, task live.Task, _ []byte) error { return sleep(time.Hour)(ctx, task) }
			p := must(live.New(j, live.Options{Slots: 1, Handlers: map[string]live.Handler{"work": wait}, Retry: live.Retry{Deaths: 100}}))
			got := p.Handles()[0].Progress().Lost
			if want := int(attempts[sojourn.TaskID{Job: 1}] + attempts[sojourn.TaskID{Job: 1, Index: 1}]); got != want {
				t.Fatalf("%d of %d bytes: %d attempts are lost, want %d", end, len(after), got, want)
			}
			d.end()
			hardStop(p)
			_ = j.Close()
		}
	})
}

// end ends the process that uses the disk: nothing more is written.
func (d *disk) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = true
}

// openDisk begins a process with a pool.
func openDisk(d *disk, o live.Options) (*live.Pool, *journal.Journal) {
	d.gone = false
	j := must(journal.Open(d, newFIFO(), journal.Options{SnapshotBytes: 2000}))
	return must(live.New(j, o)), j
}

// hardStop closes a pool at once.
func hardStop(p *live.Pool) {
	hard, stop := context.WithCancel(bg)
	stop()
	_ = p.Close(hard)
}
