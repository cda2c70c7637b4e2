package live_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// Folders in which this binary is one of the processes that share a journal, and one that leads a journal with so many jobs.
const (
	childStandby = "SOJOURN_TEST_STANDBY"
	childLeader  = "SOJOURN_TEST_LEADER"
	childJobs    = "SOJOURN_TEST_JOBS"
	childStopped = "SOJOURN_TEST_STOPPED" // this one is stopped, and goes on
)

// followJournal opens the journal of a folder as a process that may have to wait for it.
func followJournal(dir string, bytes int64) (*journal.Journal, error) {
	another := func() (sojourn.Policy, error) { return constructors.LeastWork(leastwork.Options{}) }
	store, err := journal.FollowFiles(dir)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(store, must(another()), journal.Options{SnapshotBytes: bytes, Another: another})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return j, nil
}

// leads closes the channel when the pool leads.
type leads struct{ now chan struct{} }

func newLeads() *leads { return &leads{make(chan struct{})} }

func (l *leads) Note(n live.Note) {
	if n.Kind == live.PoolStandby && n.Err == nil {
		close(l.now)
	}
}

// standbyChild submits jobs and runs them while it leads, and says on its output when it does. What it does to the world it appends to a file of its own.
func standbyChild(dir string) error {
	effects, err := os.Create(filepath.Join(dir, fmt.Sprintf("effects.%d", os.Getpid())))
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(effects, format+"\n", args...) }
	j, err := followJournal(filepath.Join(dir, "journal"), 3000)
	if err != nil {
		return err
	}
	lead := newLeads()
	p, err := live.New(j, live.Options{Slots: 4, Observer: lead, Retry: live.Retry{Deaths: 100}, Handlers: map[string]live.Handler{
		"work": func(_ context.Context, t live.Task, _ []byte) error {
			say("x %v#%d", t.TaskID, t.Attempt)
			rng := rand.New(rand.NewPCG(uint64(t.Job), uint64(t.Index)<<32|uint64(t.Attempt)))
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
			say("f %v#%d", t.TaskID, t.Attempt)
			return nil
		}}})
	if err != nil {
		return err
	}
	if err := p.Err(); errors.Is(err, live.ErrStandby) {
		fmt.Println("standby")
		<-lead.now
	}
	fmt.Println("leads")
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for {
		tasks := 1 + rng.IntN(5)
		h, err := p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: tasks}}})
		if err != nil {
			return err
		}
		say("ack %d %d", h.ID(), tasks)
		time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
	}
}

// A pool whose journal another process has is a standby: it says so and who leads, refuses what would change something, and takes over
// when the other one has gone, with the slots that it was given before. A standby that is closed leaves all as it is.
func TestStandby(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	ran := map[string]int{}
	blocked := make(chan struct{})
	open := func(o live.Options) (*journal.Journal, *live.Pool) {
		j := must(followJournal(dir, 3000))
		o.Handlers = map[string]live.Handler{"work": func(ctx context.Context, task live.Task, payload []byte) error {
			mu.Lock()
			ran[fmt.Sprintf("%s %v#%d on %d", payload, task.TaskID, task.Attempt, task.Slot)]++
			mu.Unlock()
			if task.Attempt > 1 || string(payload) == "second" {
				return nil
			}
			close(blocked)
			<-ctx.Done()
			return ctx.Err()
		}}
		return j, must(live.New(j, o))
	}
	ja, a := open(live.Options{Slots: 1})
	h := must(a.Submit(bg, live.Job{Key: "k", Handler: "work", Payload: []byte("first"), Timeout: time.Hour, Phases: []live.Phase{{Tasks: 1}}}))
	class := must(a.Submit(bg, live.Job{Handler: "work", Payload: []byte("second"), Phases: []live.Phase{{Tasks: 1, Class: 1}}}))
	<-blocked
	lead := newLeads()
	jb, b := open(live.Options{Slots: 2, Observer: lead})
	jc, c := open(live.Options{})
	for what, err := range map[string]error{
		"Err":    b.Err(),
		"Status": b.Status().Err,
		"Submit": func() error {
			_, err := b.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: 1}}})
			return err
		}(),
		"ChangePool": b.ChangePool("p", func(*sojourn.Pool) {}),
		"Retry":      func() error { _, err := b.Retry(bg, 1); return err }(),
		"Drain":      b.Drain(0),
	} {
		if !errors.Is(err, live.ErrStandby) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) {
			t.Errorf("%s: %v, want that it is a standby, and who leads", what, err)
		}
	}
	ids := must(b.AddSlots(1, sojourn.Slot{Class: 1}))
	if st := b.Status(); len(st.Jobs) != 0 || len(st.Slots) != 3 || !slices.Equal(ids, []sojourn.SlotID{2}) {
		t.Errorf("a standby has %d jobs, %d slots and slot %v", len(st.Jobs), len(st.Slots), ids)
	}
	if err := errors.Join(c.Close(bg), c.Suspend(bg), jc.Close()); err != nil {
		t.Errorf("a standby is closed: %v", err)
	}
	if _, err := c.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: 1}}}); !errors.Is(err, live.ErrClosed) {
		t.Errorf("then Submit: %v", err)
	}
	stop, cancel := context.WithCancel(bg)
	cancel()
	_ = a.Suspend(stop)
	select {
	case <-lead.now:
		t.Error("it leads while the other one has the journal")
	default:
	}
	if err := ja.Close(); err != nil {
		t.Fatal(err)
	}
	<-lead.now
	for _, id := range []sojourn.JobID{h.ID(), class.ID()} {
		if again, ok := b.Handle(id); !ok || again.Wait(bg) != nil {
			t.Errorf("job %d does not go on: %v", id, ok)
		}
	}
	if _, err := b.Submit(bg, live.Job{Key: "k", Handler: "work", Payload: []byte("first"), Phases: []live.Phase{{Tasks: 1}}}); !errors.Is(err, live.ErrDuplicate) {
		t.Errorf("the key is not known: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(ran) != 3 || ran["second 2/0/0#1 on 2"] != 1 || ran["first 1/0/0#1 on 0"] != 1 {
		t.Errorf("these ran: %v", ran)
	}
	if err := errors.Join(b.Err(), b.Close(bg), jb.Close()); err != nil {
		t.Error(err)
	}
}

// Jobs of all kinds go on in a process that has followed as they do in one that is started: those that were revised, have done some of
// their tasks, have failed before, are parked, wait for an instant or were cancelled, and those that came while nobody looked.
func TestStandbyKnowsJobs(t *testing.T) {
	for _, size := range []int64{0, 1000, -1} { // with 0 nobody follows
		warm := size != 0
		dir := t.TempDir()
		gate, begin := make(chan struct{}), make(chan struct{})
		handler := func(ctx context.Context, task live.Task, payload []byte) error {
			<-begin
			switch {
			case string(payload) == "half" && task.Index < 2:
				return nil
			case string(payload) == "fails" && task.Attempt == 1:
				return errors.New("once")
			}
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		o := live.Options{Slots: 20, Retry: live.Retry{Attempts: 3, Deaths: -1}, Handlers: map[string]live.Handler{"work": handler, "old": handler}}
		ja := must(followJournal(dir, size))
		a := must(live.New(ja, o))
		submit := func(j live.Job) *live.Handle {
			if j.Handler == "" {
				j.Handler = "work"
			}
			return must(a.Submit(bg, j))
		}
		half := submit(live.Job{Payload: []byte("half"), Phases: []live.Phase{{Tasks: 3}, {Tasks: 1}}})
		open := submit(live.Job{Open: true, Phases: []live.Phase{{Tasks: 1}}})
		fails := submit(live.Job{Payload: []byte("fails"), Phases: []live.Phase{{Tasks: 1}}})
		submit(live.Job{Handler: "old", Phases: []live.Phase{{Tasks: 1}}})
		gone := submit(live.Job{Phases: []live.Phase{{Tasks: 1}}})
		var jb *journal.Journal
		var b *live.Pool
		lead := newLeads()
		follow := func() {
			o := o
			o.Handlers = map[string]live.Handler{"work": handler}
			o.Observer = lead
			jb = must(followJournal(dir, size))
			b = must(live.New(jb, o))
		}
		if warm {
			follow()
		}
		close(begin)
		must(open.Add(0, time.Second, 2*time.Second))
		gone.Cancel()
		_ = gone.Wait(bg)
		for range 1500 { // more than it keeps of those that have ended
			h := submit(live.Job{Phases: []live.Phase{{Tasks: 1}}})
			h.Cancel()
		}
		for half.Progress().Done < 2 || fails.Progress().Failed == 0 {
			time.Sleep(ms)
		}
		late := submit(live.Job{Name: "late", Phases: []live.Phase{{Tasks: 2}}})
		stop, cancel := context.WithCancel(bg)
		cancel()
		_ = a.Suspend(stop)
		if err := ja.Close(); err != nil {
			t.Fatal(err)
		}
		if !warm {
			follow()
		} else {
			<-lead.now
		}
		got := ""
		for _, h := range b.Handles() {
			p := h.Progress()
			got += fmt.Sprintf("%d %s done %d of %d, failed %d\n", h.ID(), h.Name(), p.Done, p.Tasks, p.Failed)
		}
		want := fmt.Sprintf("1  done 2 of 4, failed 0\n2  done 0 of 3, failed 0\n3  done 0 of 1, failed 1\n4  done 0 of 1, failed 0\n%d late done 0 of 2, failed 0\n", late.ID())
		if got != want {
			t.Errorf("size %d: the jobs are\n%swant\n%s", size, got, want)
		}
		close(gate)
		for _, id := range []sojourn.JobID{half.ID(), fails.ID(), late.ID()} {
			if h, ok := b.Handle(id); !ok || h.Wait(bg) != nil {
				t.Errorf("size %d: job %d does not end", size, id)
			}
		}
		_ = b.Suspend(stop)
		if err := jb.Close(); err != nil {
			t.Error(err)
		}
	}
}

// leaderChild submits jobs, and says so.
func leaderChild(dir string) error {
	var jobs int
	fmt.Sscan(os.Getenv(childJobs), &jobs)
	j, err := followJournal(dir, 0)
	if err != nil {
		return err
	}
	p, err := live.New(j, live.Options{Slots: 4, Handlers: map[string]live.Handler{"work": func(context.Context, live.Task, []byte) error { select {} }}})
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for range 256 {
		all.Go(func() {
			for range jobs / 256 {
				if _, err := p.Submit(bg, live.Job{Handler: "work", Payload: []byte("what to do"), Phases: []live.Phase{{Tasks: 1}}}); err != nil {
					panic(err)
				}
			}
		})
	}
	all.Wait()
	fmt.Println("ready")
	select {}
}

// stoppedChild runs jobs for six seconds of its life on a disk that needs 100 ms for each sync, and says what its observer has heard.
func stoppedChild(dir string) error {
	j, err := journal.Open(slowDisk{100 * ms, new(int)}, newFIFO(), journal.Options{Retry: true})
	if err != nil {
		return err
	}
	var notes stallNotes
	p, err := live.New(j, live.Options{Slots: 4, Observer: &notes, Handlers: map[string]live.Handler{"work": func(context.Context, live.Task, []byte) error { return nil }}})
	if err != nil {
		return err
	}
	fmt.Println("begun")
	for range 30 {
		h, err := p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: 1}}})
		if err == nil {
			err = h.Wait(bg)
		}
		if err != nil {
			return err
		}
	}
	err = errors.Join(p.Close(bg), j.Close())
	fmt.Println("ended:", notes.kinds)
	return err
}
