package live_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// payloads of jobs, and what becomes of them.
var fates = map[string]live.Outcome{"good": live.Finished, "bad": live.Failed, "later": live.Finished, "cancel": live.Cancelled}

// Clients submit each of their jobs until it is acknowledged, under its key, while processes end at any moment and the handler of
// ends fails, panics, exits its goroutine or never returns. Each key is one job. Of each job OnEnd was told, with nil, what became
// of it, and never anything else; the pool remembers the same.
func TestOnEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"good", "bad", "later", "cancel"}), 1, 6).Draw(rt, "kinds")
		lives := rapid.SliceOfN(rapid.IntRange(0, 8000), 0, 4).Draw(rt, "lives in ms")
		moods := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "error", "panic", "exit", "for ever"}), 1, 10).Draw(rt, "moods")
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			var mu sync.Mutex
			told, calls := map[string]live.Outcome{}, 0
			ids := map[string]map[sojourn.JobID]bool{}
			process := 0
			options := func() live.Options {
				o := live.Options{Slots: 2, Grace: time.Second, Retry: live.Retry{Attempts: 2, Deaths: -1}}
				process++
				own := process
				o.Handlers = map[string]live.Handler{"work": func(ctx context.Context, task live.Task, payload []byte) error {
					if err := sleep(time.Second)(ctx, task); err != nil {
						return err
					}
					switch kind, _, _ := strings.Cut(string(payload), " "); {
					case kind == "bad":
						return errors.New("bad")
					case kind == "later" && task.Attempt == 1:
						return errors.New("not yet")
					case kind == "cancel":
						return sleep(1000*time.Hour)(ctx, task)
					}
					return nil
				}}
				o.OnEnd = func(ctx context.Context, e live.Ended) error {
					mu.Lock()
					mood := moods[calls%len(moods)]
					if calls++; calls > 3*len(moods) {
						mood = ""
					}
					kind, _, _ := strings.Cut(string(e.Payload), " ")
					if e.Key != string(e.Payload) || e.Handler != "work" || fates[kind] != e.Outcome || (e.Err == "") != (e.Outcome == live.Finished) {
						t.Errorf("told %+v", e)
					}
					if before := told[e.Key]; before != 0 && before != e.Outcome {
						t.Errorf("key %s: %v, and then %v", e.Key, before, e.Outcome)
					}
					if mood == "" && own == process {
						told[e.Key] = e.Outcome
					}
					mu.Unlock()
					switch mood {
					case "error":
						return errors.New("the other side is not there")
					case "panic":
						panic("OnEnd")
					case "exit":
						runtime.Goexit()
					case "for ever":
						<-ctx.Done()
						time.Sleep(1000 * time.Hour)
						return errors.New("at last")
					}
					return nil
				}
				return o
			}
			p, j := openDisk(d, options())
			acked := map[string]bool{}
			work := func() { // until the process ends
				for i, kind := range kinds {
					key := fmt.Sprintf("%s %d", kind, i)
					h, err := p.Submit(bg, live.Job{Key: key, Handler: "work", Payload: []byte(key), Phases: []live.Phase{{Tasks: 1}}})
					if err != nil && !errors.Is(err, live.ErrDuplicate) {
						return
					}
					if ids[key] == nil {
						ids[key] = map[sojourn.JobID]bool{}
					}
					ids[key][h.ID()] = true
					if acked[key] && err == nil {
						t.Errorf("key %s is submitted as another job", key)
					}
					acked[key] = true
					if h.Key() != key {
						t.Errorf("job %d has key %q, want %q", h.ID(), h.Key(), key)
					}
					if same, ok := p.Handle(h.ID()); !ok || same.ID() != h.ID() {
						t.Errorf("job %d is not found", h.ID())
					}
					if kind == "cancel" {
						h.Cancel()
					}
				}
			}
			for _, span := range lives {
				work()
				time.Sleep(time.Duration(span) * ms)
				d.end()
				hardStop(p)
				_ = j.Close()
				p, j = openDisk(d, options())
			}
			work()
			for key := range acked { // Wait gives what became of the job, also of one that ended before
				for id := range ids[key] {
					h, ok := p.Handle(id)
					if !ok {
						t.Fatalf("key %s: job %d is forgotten", key, id)
					}
					kind, _, _ := strings.Cut(key, " ")
					switch err := h.Wait(bg); {
					case (err == nil) != (fates[kind] == live.Finished), kind == "cancel" && !errors.Is(err, live.ErrCancelled):
						t.Errorf("key %s: %v", key, err)
					}
					if e, ok := h.Ended(); !ok || e.Outcome != fates[kind] || e.Key != key || h.Name() != e.Name || string(e.Payload) != key {
						t.Errorf("key %s is remembered as %+v", key, e)
					} else if kind == "later" && (e.Lost == 0) && (e.Failures != 1 || e.First != "not yet") || kind == "bad" && e.First != "bad" || e.Outcome == live.Finished && e.Attempts != 1+e.Failures+e.Lost {
						t.Errorf("%+v", e)
					}
				}
				if len(ids[key]) != 1 {
					t.Errorf("key %s is %d jobs", key, len(ids[key]))
				}
			}
			time.Sleep(2 * time.Hour)
			mu.Lock()
			for key := range acked {
				kind, _, _ := strings.Cut(key, " ")
				stuck := false // a call for the job has not returned yet
				for _, m := range moods {
					stuck = stuck || m == "for ever"
				}
				if told[key] != fates[kind] && !stuck {
					t.Errorf("key %s: OnEnd was told %v", key, told[key])
				}
			}
			if len(p.Ended()) != len(acked) {
				t.Errorf("%d of %d jobs are remembered", len(p.Ended()), len(acked))
			}
			mu.Unlock()
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
			// A last process tells what the one before could not.
			moods = []string{""}
			p, j = openDisk(d, options())
			time.Sleep(time.Hour)
			mu.Lock()
			for key := range acked {
				kind, _, _ := strings.Cut(key, " ")
				if told[key] != fates[kind] {
					t.Errorf("key %s: OnEnd was told %v", key, told[key])
				}
			}
			before := calls
			mu.Unlock()
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
			p, j = openDisk(d, options())
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
			if calls != before {
				t.Errorf("OnEnd was called %d times more after it had returned nil for all jobs", calls-before)
			}
			time.Sleep(2000 * time.Hour) // those that never returned
		})
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

// A job that failed is submitted anew by hand, with all that it had.
func TestRetryEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		good := false
		o := live.Options{Slots: 1}
		o.Handlers = map[string]live.Handler{"work": func(context.Context, live.Task, []byte) error {
			if good {
				return nil
			}
			return errors.New("bad")
		}}
		p, j := openDisk(d, o)
		first := must(p.Submit(bg, live.Job{Name: "name", Pool: "pool", Key: "key", Handler: "work", Payload: []byte("p"), Phases: []live.Phase{{Tasks: 2}, {Tasks: 1}}}))
		_ = first.Wait(bg)
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Fatal(err)
		}
		p, j = openDisk(d, o)
		if h, ok := p.Handle(first.ID()); !ok || h.Wait(bg) == nil || h.Wait(bg).Error() != first.Wait(bg).Error() {
			t.Errorf("the job after a restart: %v, want %v", h.Wait(bg), first.Wait(bg))
		}
		good = true
		h := must(p.Retry(bg, first.ID()))
		if err := h.Wait(bg); err != nil || h.ID() == first.ID() || h.Name() != "name" || h.Pool() != "pool" || h.Key() != "key" || h.Progress().Done != 3 {
			t.Errorf("job %d, anew: %v, %+v", h.ID(), err, h.Progress())
		}
		if _, ok := p.Handle(first.ID()); ok {
			t.Error("the old job is remembered")
		}
		for _, id := range []sojourn.JobID{first.ID(), h.ID(), 99} {
			if _, err := p.Retry(bg, id); err == nil {
				t.Errorf("job %d was submitted anew", id)
			}
		}
		if same, err := p.Submit(bg, live.Job{Key: "key", Handler: "work", Phases: []live.Phase{{Tasks: 1}}}); !errors.Is(err, live.ErrDuplicate) || same.ID() != h.ID() {
			t.Errorf("a duplicate of the job that was submitted anew: %v", err)
		}
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Error(err)
		}
	})
}

// What is remembered is bounded by number and age, and then a key is free again. Long keys are refused.
func TestKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		o := live.Options{Slots: 1, Remember: 10, RememberFor: time.Hour, Handlers: map[string]live.Handler{"work": func(context.Context, live.Task, []byte) error { return nil }}}
		p, j := openDisk(d, o)
		job := func(key string) live.Job {
			return live.Job{Key: key, Handler: "work", Phases: []live.Phase{{Tasks: 1}}}
		}
		for i := range 1000 {
			if err := must(p.Submit(bg, job(fmt.Sprint(i)))).Wait(bg); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait() // for what the pool does when it has told that a job has ended
		kept := 0
		for range j.Kept() {
			kept++
		}
		if n := len(p.Ended()); n != 10 || kept != 10 {
			t.Errorf("%d jobs are remembered, %d kept, want 10", n, kept)
		}
		if h, err := p.Submit(bg, job("995")); !errors.Is(err, live.ErrDuplicate) || h.ID() != 996 {
			t.Errorf("a job of late: %v", err)
		}
		if h, err := p.Submit(bg, job("5")); err != nil || h.Wait(bg) != nil {
			t.Errorf("a job of long ago: %v", err)
		}
		time.Sleep(time.Hour + time.Second)
		if h, err := p.Submit(bg, job("999")); err != nil || h.Wait(bg) != nil || len(p.Ended()) != 1 {
			t.Errorf("after an hour: %v, %d jobs are remembered", err, len(p.Ended()))
		}
		if _, err := p.Submit(bg, job(strings.Repeat("k", 1<<20))); err == nil || !strings.Contains(err.Error(), "key of 1048576 bytes") {
			t.Errorf("a key of 1 MB: %v", err)
		}
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // without a journal only live jobs have keys, unless the pool remembers
		p := must(live.New(newFIFO(), live.Options{Slots: 1}))
		job := live.Job{Key: "key", Phases: []live.Phase{{Tasks: 1, Run: sleep(time.Second)}}}
		first := must(p.Submit(bg, job))
		if same, err := p.Submit(bg, job); !errors.Is(err, live.ErrDuplicate) || same != first {
			t.Errorf("a live job: %v", err)
		}
		_ = first.Wait(bg)
		if second, err := p.Submit(bg, job); err != nil || second == first {
			t.Errorf("a job that has ended: %v", err)
		}
		if err := p.Close(bg); err != nil {
			t.Error(err)
		}
	})
}

// Who is told is away for an hour while jobs end: OnEnd is called for each job once, then again a few times a second, and all are told when
// it is back.
func TestOnEndAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs = 5000
		var away atomic.Bool
		away.Store(true)
		var calls atomic.Int64
		told := map[sojourn.JobID]int{}
		var mu sync.Mutex
		p := must(live.New(newFIFO(), live.Options{Slots: 8, OnEnd: func(_ context.Context, e live.Ended) error {
			calls.Add(1)
			if away.Load() {
				return errors.New("nobody is there")
			}
			mu.Lock()
			defer mu.Unlock()
			told[e.ID]++
			return nil
		}}))
		for range jobs {
			must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 1, Run: func(context.Context, live.Task) error { return nil }}}}))
		}
		time.Sleep(time.Hour)
		if n := calls.Load() - jobs; n < 3600 || n > 4*3700 {
			t.Errorf("%d calls in an hour beside the first ones, want 1 to 4 a second", n)
		}
		away.Store(false)
		time.Sleep(2 * time.Minute)
		if mu.Lock(); len(told) != jobs {
			t.Errorf("two minutes later %d of %d jobs are told", len(told), jobs)
		}
		mu.Unlock()
		if err := p.Close(bg); err != nil {
			t.Error(err)
		}
	})
}

// OnEnd that returns ErrStalled, as it may have it from Submit, is called again like after any error.
func TestOnEndReturnsErrStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		p := must(live.New(newFIFO(), live.Options{Slots: 1, OnEnd: func(context.Context, live.Ended) error {
			if calls++; calls == 1 {
				return fmt.Errorf("the next job: %w", live.ErrStalled)
			}
			return nil
		}}))
		err := must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 1, Run: sleep(time.Second)}}})).Wait(bg)
		time.Sleep(time.Minute)
		if err = errors.Join(err, p.Close(bg)); err != nil || calls != 2 {
			t.Errorf("OnEnd was called %d times, want 2: %v", calls, err)
		}
	})
}

// Calls of OnEnd that never return hold up none but their own jobs, and no call of the pool.
func TestOnEndNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told sync.Map
		release := make(chan struct{})
		p := must(live.New(newFIFO(), live.Options{Slots: 1, Grace: time.Second, OnEnd: func(_ context.Context, e live.Ended) error {
			if e.Name == "for ever" {
				<-release
			}
			told.Store(e.ID, true)
			return nil
		}}))
		for i := range 30 {
			job := live.Job{Phases: []live.Phase{{Tasks: 1, Run: nothing}}}
			if i < 20 {
				job.Name = "for ever"
			}
			if err := must(p.Submit(bg, job)).Wait(bg); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5*time.Minute + time.Second) // four at a time, a minute each
		for id := sojourn.JobID(21); id <= 30; id++ {
			if _, ok := told.Load(id); !ok {
				t.Errorf("nobody was told of job %d", id)
			}
		}
		if err := p.Close(bg); err != nil {
			t.Error(err)
		}
		close(release)
	})
}

// torn opens the first segment of a disk as if the process had ended at each of its bytes.
func torn(d *disk) iter.Seq2[int, *journal.Journal] {
	return func(yield func(int, *journal.Journal) bool) {
		for end := range d.segments[1] {
			cut := newDisk()
			cut.segments[1] = d.segments[1][:end:end]
			j, err := journal.Open(cut, newFIFO(), journal.Options{})
			if err != nil {
				continue // the segment was never made
			}
			if !yield(end, j) {
				return
			}
		}
	}
}

// A process may end at any byte: OnEnd is told of a job after its end, and not before.
func TestEndedTorn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *live.Pool
		o := live.Options{Slots: 1, Handlers: map[string]live.Handler{"work": func(ctx context.Context, task live.Task, _ []byte) error { return sleep(time.Second)(ctx, task) }}}
		told := 0
		o.OnEnd = func(_ context.Context, e live.Ended) error {
			h, ok := p.Handle(e.ID)
			if !ok || !h.Progress().Ended {
				t.Errorf("OnEnd was told of job %d before its end", e.ID)
			}
			told++
			return nil
		}
		d := newDisk()
		p, j := openDisk(d, o)
		_ = must(p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: 2}}})).Wait(bg)
		if err := errors.Join(p.Close(bg), j.Close()); err != nil || told != 1 {
			t.Fatalf("%v, OnEnd was called %d times", err, told)
		}
		for end, j := range torn(d) {
			told = 0
			p = nil
			hold := o.OnEnd
			o2 := o
			ready := make(chan struct{})
			o2.OnEnd = func(ctx context.Context, e live.Ended) error { <-ready; return hold(ctx, e) }
			p = must(live.New(j, o2))
			lived := len(p.Handles()) > 0
			close(ready)
			synctest.Wait()
			if before := told; lived && before > 0 {
				t.Errorf("%d bytes: OnEnd was called for a live job", end)
			}
			for _, h := range p.Handles() {
				_ = h.Wait(bg)
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Errorf("%d bytes: %v", end, err)
			}
			if lived && told != 1 {
				t.Errorf("%d bytes: OnEnd was called %d times", end, told)
			}
		}
	})
}

// Of a job that is forgotten nothing is kept, at whatever byte a process ends.
func TestForgottenTorn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := live.Options{Slots: 1, Remember: 1, OnEnd: func(context.Context, live.Ended) error { return nil },
			Handlers: map[string]live.Handler{"work": func(context.Context, live.Task, []byte) error { return nil }}}
		submit := func(p *live.Pool) {
			_ = must(p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: 1}}})).Wait(bg)
			synctest.Wait()
		}
		kept := func(j *journal.Journal) (list []string) {
			for key := range j.Kept() {
				list = append(list, fmt.Sprintf("%q", key))
			}
			return list
		}
		d := newDisk()
		p, j := openDisk(d, o)
		for range 3 {
			submit(p)
		}
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Fatal(err)
		}
		opened := 0
		for end, j := range torn(d) {
			opened++
			p := must(live.New(j, o))
			submit(p)
			if list := kept(j); len(list) != 2 { // of the last job: what it was, and that OnEnd was told
				t.Fatalf("%d bytes: %v are kept", end, list)
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if opened < 100 {
			t.Errorf("%d processes", opened)
		}
	})
}

// While OnEnd fails for the jobs of one tenant, those of the others are told of at once: however many they are, and also in a stream.
func TestOnEndOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told time.Time
		up := 0
		p := must(live.New(newFIFO(), live.Options{Slots: 8, Remember: 1 << 20, OnEnd: func(_ context.Context, e live.Ended) error {
			if e.Pool == "down" {
				return errors.New("the receiver is away")
			}
			mu.Lock()
			defer mu.Unlock()
			told, up = time.Now(), up+1
			return nil
		}}))
		submit := func(pool string) {
			must(p.Submit(bg, live.Job{Pool: pool, Phases: []live.Phase{{Tasks: 1, Run: func(context.Context, live.Task) error { return nil }}}}))
		}
		for range 1000 {
			submit("down")
		}
		for i := range 600 {
			time.Sleep(time.Second)
			submit("down")
			submit("up")
			synctest.Wait()
			mu.Lock()
			if up != i+1 || !told.Equal(time.Now()) {
				t.Fatalf("after %d s %d jobs of the other tenant have ended and %d were told of, the last one %v ago", i+1, i+1, up, time.Since(told))
			}
			mu.Unlock()
		}
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		_ = p.Close(ctx)
	})
}

// More jobs end than OnEnd can be told of, and each third one is told in vain at first. Each of these is told again in the turn of the oldest that are due:
// the last one waits for its second and then for those before it, of which at least one begins a second, and never for the new ones alone.
func TestOnEndOverload(t *testing.T) {
	for _, fails := range []int{3, 1} { // each third one, or each one
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			first, again, most := map[sojourn.JobID]time.Time{}, 0, time.Duration(0)
			waits := 0 // for new ones, in the moment of a second call
			p := must(live.New(newFIFO(), live.Options{Slots: 8, Remember: 1 << 20, OnEnd: func(_ context.Context, e live.Ended) error {
				time.Sleep(20 * time.Millisecond) // four at a time: 200 a second
				mu.Lock()
				defer mu.Unlock()
				at, twice := first[e.ID]
				first[e.ID] = time.Now()
				if !twice {
					waits--
					if e.ID <= 300 && int(e.ID)%fails == 0 {
						return errors.New("in vain")
					}
					return nil
				}
				if waits == 0 {
					t.Error("nothing new waits: this is no overload")
				}
				again++
				most = max(most, time.Since(at))
				return nil
			}}))
			for range 60 * 300 { // 300 a second
				time.Sleep(time.Second / 300)
				mu.Lock()
				waits++
				mu.Unlock()
				must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 1, Run: func(context.Context, live.Task) error { return nil }}}}))
			}
			mu.Lock()
			if again != 300/fails || most > 15*time.Second {
				t.Errorf("one of %d: %d were told again, after %v at most, want %d after 15 s at most", fails, again, most, 300/fails)
			}
			mu.Unlock()
			ctx, cancel := context.WithCancel(bg)
			cancel()
			_ = p.Close(ctx)
		})
	}
}
