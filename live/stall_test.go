package live_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// sick is a store on a disk that is full for a while.
type sick struct {
	journal.Store
	full  atomic.Bool
	tries atomic.Int64 // while it was full
}

func (s *sick) call() error {
	if s.full.Load() {
		s.tries.Add(1)
		return errDisk
	}
	return nil
}

func (s *sick) Create(segment uint64, data []byte) error {
	return cmpErr(s.call(), func() error { return s.Store.Create(segment, data) })
}

func (s *sick) Append(segment uint64, data []byte) error {
	if s.full.Load() {
		_ = s.Store.Append(segment, data[:len(data)/2]) // some of it may be there
	}
	return cmpErr(s.call(), func() error { return s.Store.Append(segment, data) })
}

func (s *sick) Sync(segment uint64) error {
	return cmpErr(s.call(), func() error { return s.Store.Sync(segment) })
}

func cmpErr(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

// stallNotes are what an observer hears of the pool.
type stallNotes struct{ kinds []live.NoteKind }

func (n *stallNotes) Note(note live.Note) {
	switch note.Kind {
	case live.PoolBroken, live.PoolStalled, live.PoolMended:
		n.kinds = append(n.kinds, note.Kind)
	}
}

// A stalled is a pool of two slots with a journal on a disk that becomes full while two of its three tasks of a minute run.
type stalled struct {
	dir   string
	d     *diary
	store *sick
	j     *journal.Journal
	p     *live.Pool
	notes stallNotes
	told  []uint64
	jobs  []*live.Handle
}

var sleepJob = live.Job{Handler: "sleep", Payload: []byte("1m"), Phases: []live.Phase{{Tasks: 1}}}

func newStalled(t *testing.T) *stalled {
	s := &stalled{dir: t.TempDir(), d: new(diary)}
	s.store = &sick{Store: must(journal.OpenFiles(s.dir))}
	s.j = must(journal.Open(s.store, newFIFO(), journal.Options{Retry: true}))
	s.p = must(live.New(s.j, s.options()))
	for range 3 {
		s.jobs = append(s.jobs, must(s.p.Submit(bg, sleepJob)))
	}
	time.Sleep(30 * time.Second)
	s.store.full.Store(true)
	return s
}

func (s *stalled) options() live.Options {
	return live.Options{Slots: 2, Observer: &s.notes, Retry: live.Retry{Attempts: 1},
		OnEnd: func(_ context.Context, e live.Ended) error {
			s.d.mu.Lock()
			defer s.d.mu.Unlock()
			s.told = append(s.told, uint64(e.ID))
			return nil
		},
		Handlers: map[string]live.Handler{"sleep": func(ctx context.Context, t live.Task, payload []byte) error {
			s.d.say("%v#%d", t.TaskID, t.Attempt)
			return sleep(must(time.ParseDuration(string(bytes.TrimRight(payload, "\x00")))))(ctx, t)
		}}}
}

// again opens the folder, or a copy of it, in another process, and waits until all jobs have ended. It returns what ran there.
func (s *stalled) again(t *testing.T, dir string) []string {
	d := s.d
	s.d = new(diary)
	defer func() { s.d = d }()
	j := openFIFO(dir)
	p := must(live.New(j, s.options()))
	for _, h := range p.Handles() {
		if err := h.Wait(bg); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(p.Close(bg), j.Close()); err != nil {
		t.Error(err)
	}
	return slices.Sorted(slices.Values(s.d.lines))
}

// A disk is full for an hour. Nothing is started meanwhile, what runs goes on, nobody is told what is not durable, and whoever asks is told why. A
// process that is killed then has lost nothing that was acknowledged, and starts no attempt again. Then the pool goes on by itself.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalled(t)
		ctx, cancel := context.WithTimeout(bg, 10*time.Second)
		defer cancel()
		if _, err := s.p.Submit(ctx, sleepJob); !errors.Is(err, live.ErrStalled) || !errors.Is(err, errDisk) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Submit at the full disk, for ten seconds: %v", err)
		}
		for range 100 { // they do not wait, and do not try the disk
			if _, err := s.p.Submit(bg, sleepJob); !errors.Is(err, live.ErrStalled) || !errors.Is(err, errDisk) {
				t.Fatalf("Submit: %v", err)
			}
		}
		time.Sleep(time.Hour)
		if err := s.p.Err(); !errors.Is(err, live.ErrStalled) || !errors.Is(s.p.Status().Err, live.ErrStalled) {
			t.Errorf("Err: %v, Status: %v", err, s.p.Status().Err)
		}
		if err := s.jobs[2].SetParallelism(1); !errors.Is(err, live.ErrStalled) {
			t.Errorf("SetParallelism: %v", err)
		}
		ctx, cancel = context.WithTimeout(bg, time.Minute)
		defer cancel()
		if err := s.jobs[0].Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait of a job that has ended in memory: %v", err)
		}
		// Both were started at once, each in a goroutine of its own.
		if got, want := slices.Sorted(slices.Values(s.d.lines)), []string{"1/0/0#1", "2/0/0#1"}; !slices.Equal(got, want) || len(s.told) > 0 {
			t.Errorf("at the full disk %v were started, want %v; told of %v", got, want, s.told)
		}
		if n := s.store.tries.Load(); n > 1000 {
			t.Errorf("the disk was tried %d times in an hour", n)
		}
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(s.dir)); err != nil {
			t.Fatal(err)
		}
		if got, want := s.again(t, copied), []string{"1/0/0#2", "2/0/0#2", "3/0/0#1"}; !slices.Equal(got, want) {
			t.Errorf("after a kill %v are started, want %v", got, want)
		}
		s.told = nil

		s.store.full.Store(false)
		for i, h := range s.jobs {
			if err := h.Wait(bg); err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		}
		late := must(s.p.Submit(bg, sleepJob)) // after the one of which the client does not know
		if err := late.Wait(bg); err != nil || late.ID() != 5 || s.p.Err() != nil {
			t.Errorf("job %d after the end of the stall: %v; Err %v", late.ID(), err, s.p.Err())
		}
		if want := []live.NoteKind{live.PoolStalled, live.PoolMended}; !slices.Equal(s.notes.kinds, want) {
			t.Errorf("notes %v, want %v", s.notes.kinds, want)
		}
		if err := errors.Join(s.p.Close(bg), s.j.Close()); err != nil {
			t.Error(err)
		}
		slices.Sort(s.told)
		if want := []uint64{1, 2, 3, 4, 5}; !slices.Equal(s.told, want) || len(s.d.lines) != 5 {
			t.Errorf("told of %v, want %v; started %v", s.told, want, s.d.lines)
		}
		if got := s.again(t, s.dir); len(got) > 0 {
			t.Errorf("%v run again", got)
		}
	})
}

// A process is told to end while the disk is full: it does when its context has ended, and the next one loses nothing.
func TestStallEnds(t *testing.T) {
	for what, end := range map[string]func(*live.Pool, context.Context) error{"Suspend": (*live.Pool).Suspend, "Close": (*live.Pool).Close} {
		for _, after := range []time.Duration{10 * time.Second, time.Hour} { // with tasks that run, and without
			synctest.Test(t, func(t *testing.T) {
				s := newStalled(t)
				go s.p.Submit(bg, sleepJob)
				time.Sleep(after)
				ctx, cancel := context.WithTimeout(bg, 3*time.Second)
				defer cancel()
				begun := time.Now()
				if err := end(s.p, ctx); !errors.Is(err, live.ErrStalled) {
					t.Errorf("%s: %v", what, err)
				}
				if took := time.Since(begun); took > 14*time.Second { // the grace of OnEnd
					t.Errorf("%s takes %v", what, took)
				}
				if err := s.j.Close(); !errors.Is(err, errDisk) {
					t.Errorf("Close of the journal: %v", err)
				}
				if got := s.again(t, s.dir); len(got) < 3 {
					t.Errorf("after %s the next process starts %v", what, got)
				}
			})
		}
	}
}

// The journal is closed while the pool waits for the disk: the pool is broken.
func TestStallBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalled(t)
		time.Sleep(time.Hour)
		wantError(t, "Close of the journal", s.j.Close(), errDisk)
		time.Sleep(time.Minute)
		if err := s.p.Err(); !errors.Is(err, journal.ErrClosed) || errors.Is(err, live.ErrStalled) {
			t.Errorf("Err: %v", err)
		}
		for _, h := range s.jobs {
			wantError(t, "Wait", h.Wait(bg), journal.ErrClosed)
		}
		if want := []live.NoteKind{live.PoolStalled, live.PoolBroken}; !slices.Equal(s.notes.kinds, want) {
			t.Errorf("notes %v, want %v", s.notes.kinds, want)
		}
		wantError(t, "Close", s.p.Close(bg), journal.ErrClosed)
	})
}

// A task goes on that saves, hands in a job, or changes one, while the disk is full: it waits, or is started again, and nothing of it has failed.
func TestTasksWaitForTheStore(t *testing.T) {
	for _, full := range []time.Duration{time.Second, time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var p *live.Pool
			var mu sync.Mutex
			var ended []live.Ended
			handlers := map[string]live.Handler{
				"quick": func(context.Context, live.Task, []byte) error { return nil },
				"save": func(ctx context.Context, _ live.Task, _ []byte) error {
					for at := len(live.Saved(ctx)); at < 120; at++ {
						time.Sleep(time.Second)
						if err := live.Save(ctx, make([]byte, at+1)); err != nil {
							return err
						}
					}
					return nil
				},
				"submit": func(ctx context.Context, t live.Task, _ []byte) error {
					for i := range 60 {
						time.Sleep(time.Second)
						key := fmt.Sprintf("%d-%d", t.Job, i)
						if _, err := p.Submit(ctx, live.Job{Key: key, Handler: "quick", Phases: []live.Phase{{Tasks: 1}}}); err != nil && !errors.Is(err, live.ErrDuplicate) {
							return err
						}
					}
					return nil
				},
				"change": func(ctx context.Context, t live.Task, _ []byte) error {
					h, _ := p.Handle(t.Job)
					for range 60 {
						time.Sleep(time.Second)
						if err := h.SetParallelism(1); err != nil {
							return fmt.Errorf("a change: %w", err)
						}
					}
					return nil
				},
			}
			store := &sick{Store: must(journal.OpenFiles(t.TempDir()))}
			j := must(journal.Open(store, newFIFO(), journal.Options{Retry: true}))
			p = must(live.New(j, live.Options{Slots: 8, Handlers: handlers, OnEnd: func(ctx context.Context, e live.Ended) error {
				if ctx.Err() != nil {
					t.Errorf("OnEnd of job %d is called with a context that has ended", e.ID)
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, e)
				return nil
			}}))
			for range 2 {
				for _, name := range []string{"save", "submit", "change"} {
					must(p.Submit(bg, live.Job{Handler: name, Phases: []live.Phase{{Tasks: 1}}}))
					time.Sleep(300 * time.Millisecond)
				}
			}
			for range 2 {
				time.Sleep(30*time.Second + time.Millisecond)
				store.full.Store(true)
				time.Sleep(full)
				store.full.Store(false)
			}
			time.Sleep(time.Hour)
			mu.Lock()
			defer mu.Unlock()
			if len(ended) != 6+2*60 {
				t.Errorf("full for %v: %d jobs have ended, want 6, and 60 of each of two", full, len(ended))
			}
			for _, e := range ended {
				if e.Outcome != live.Finished || e.Failures > 0 {
					t.Errorf("full for %v: job %d of %s is %v after %d failures: %s", full, e.ID, e.Handler, e.Outcome, e.Failures, e.Err)
				}
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A job with a payload of more than 64 MiB meets a full disk. Its submission waits, what runs goes on and ends, and so does all when there is space.
func TestLargeJobAtAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalled(t)
		large := sleepJob
		large.Payload = append([]byte("1m"), make([]byte, 65<<20)...)
		submitted := make(chan *live.Handle)
		go func() { submitted <- must(s.p.Submit(bg, large)) }()
		time.Sleep(10 * time.Second) // each try copies all of it
		select {
		case h := <-submitted:
			t.Errorf("job %d is said to be durable", h.ID())
		default:
		}
		s.store.full.Store(false)
		for _, h := range append(s.jobs, <-submitted) {
			wantError(t, fmt.Sprint("job ", h.ID()), h.Wait(bg), nil)
		}
		if want := []live.NoteKind{live.PoolStalled, live.PoolMended}; !slices.Equal(s.notes.kinds, want) {
			t.Errorf("told %v, want %v", s.notes.kinds, want)
		}
		if err := errors.Join(s.p.Close(bg), s.j.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A change does not wait for the store, since nobody could end that. The first one is made, and survives.
func TestFirstChangeAtAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sick{Store: must(journal.OpenFiles(t.TempDir()))}
		var j *journal.Journal
		var p *live.Pool
		open := func() {
			j = must(journal.Open(store, must(fair.New(fair.Options{})), journal.Options{Retry: true}))
			p = must(live.New(j, live.Options{Slots: 1}))
		}
		weight := func(when string, want float64) {
			t.Helper()
			if n, ok := p.Settings("etl"); !ok || n.Weight != want {
				t.Errorf("%s the weight is %v, want %v", when, n.Weight, want)
			}
		}
		open()
		store.full.Store(true)
		for i := range 3 {
			if err := p.ChangePool("etl", func(n *sojourn.Pool) { n.Weight = float64(i + 2) }); !errors.Is(err, live.ErrStalled) {
				t.Errorf("change %d: %v, want that the store fails", i, err)
			}
			weight("while the store fails,", 2)
		}
		store.full.Store(false)
		time.Sleep(10 * time.Second)
		for _, when := range []string{"when the store works again,", "in the next process,"} {
			weight(when, 2)
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
			open()
		}
		if err := p.ChangePool("etl", func(n *sojourn.Pool) { n.Weight = 5 }); err != nil {
			t.Error(err)
		}
		weight("after one more change", 5)
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Error(err)
		}
	})
}

// What was durable before the disk became full is told while it is.
func TestWaitOfADurableEndAtAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalled(t)
		s.store.full.Store(false)
		time.Sleep(time.Hour)
		s.store.full.Store(true)
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		if _, err := s.p.Submit(ctx, sleepJob); !errors.Is(err, live.ErrStalled) {
			t.Errorf("Submit: %v, want that the store fails", err)
		}
		for i, h := range s.jobs {
			if err := h.Wait(bg); err != nil {
				t.Errorf("Wait of job %d, which has ended an hour ago: %v", i, err)
			}
		}
		s.store.full.Store(false)
		time.Sleep(time.Hour)
		if err := errors.Join(s.p.Close(bg), s.j.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A silent store answers nothing while it is told to.
type silent struct {
	journal.Store
	answers atomic.Pointer[chan struct{}] // closed when it does
}

func (s *silent) dead() (alive func()) {
	c := make(chan struct{})
	s.answers.Store(&c)
	return func() { close(c) }
}

func (s *silent) call() {
	if c := s.answers.Load(); c != nil {
		<-*c
	}
}

func (s *silent) Create(segment uint64, data []byte) error {
	s.call()
	return s.Store.Create(segment, data)
}

func (s *silent) Append(segment uint64, data []byte) error {
	s.call()
	return s.Store.Append(segment, data)
}

func (s *silent) Sync(segment uint64) error {
	s.call()
	return s.Store.Sync(segment)
}

// A disk answers nothing any more. Whoever waits for it goes on when its ctx has ended, Status says why nothing happens, Submit waits no longer than it takes to
// learn that, and Close ends. If the disk answers after all, everything goes on.
func TestDeadDisk(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := new(diary)
			s := &stalled{d: d, dir: t.TempDir()}
			store := &silent{Store: must(journal.OpenFiles(s.dir))}
			s.j = must(journal.Open(store, newFIFO(), journal.Options{Retry: true}))
			o := s.options()
			o.Grace = time.Second
			s.p = must(live.New(s.j, o))
			h := must(s.p.Submit(bg, sleepJob))
			time.Sleep(30 * time.Second)
			alive := store.dead()
			within := func(d time.Duration, f func(ctx context.Context) error) error {
				ctx, cancel := context.WithTimeout(bg, d)
				defer cancel()
				begun := time.Now()
				err := f(ctx)
				if took := time.Since(begun); took > d+3*time.Second {
					t.Errorf("it takes %v, and its context ends after %v", took, d)
				}
				return err
			}
			submit := func(ctx context.Context) error { _, err := s.p.Submit(ctx, sleepJob); return err }
			if err := within(3*time.Second, submit); !errors.Is(err, live.ErrStalled) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Submit: %v", err)
			}
			time.Sleep(10 * time.Second)
			if err := s.p.Status().Err; !errors.Is(err, live.ErrStalled) || !strings.Contains(err.Error(), "not answered for 10 s") || !errors.Is(s.p.Err(), live.ErrStalled) {
				t.Errorf("Status: %v", err)
			}
			for range 100 {
				if err := within(0, func(context.Context) error { return submit(bg) }); !errors.Is(err, live.ErrStalled) {
					t.Fatalf("then Submit: %v", err)
				}
			}
			time.Sleep(time.Minute) // the task has returned meanwhile
			if err := within(3*time.Second, h.Wait); !errors.Is(err, live.ErrStalled) || len(s.told) > 0 {
				t.Errorf("Wait: %v; OnEnd was told of %v", err, s.told)
			}
			kinds := []live.NoteKind{live.PoolStalled}
			if again {
				alive()
				synctest.Wait()
				kinds = append(kinds, live.PoolMended)
				if err := errors.Join(h.Wait(bg), submit(bg), s.p.Err()); err != nil {
					t.Error(err)
				}
			}
			if err := within(5*time.Minute, s.p.Close); (err == nil) != again || !again && !errors.Is(err, live.ErrStalled) {
				t.Errorf("Close: %v", err)
			}
			if !slices.Equal(s.notes.kinds, kinds) {
				t.Errorf("the observer heard %v, want %v", s.notes.kinds, kinds)
			}
			if !again {
				alive()
			}
			if err := s.j.Close(); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		})
	}
}

// A process ends over a disk that answers nothing any more, at once or when that is known, while a task ends and clients submit jobs that fill the journal: each
// call ends when it says, names the disk, and nothing is told of the pool after that. The next process has what was acknowledged.
func TestEndOverADeadDisk(t *testing.T) {
	for what, end := range map[string]func(*live.Pool, context.Context) error{"Suspend": (*live.Pool).Suspend, "Close": (*live.Pool).Close} {
		for _, after := range []time.Duration{2 * time.Second, time.Minute} {
			for _, unsynced := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					s := &stalled{d: new(diary), dir: t.TempDir()}
					store := &silent{Store: must(journal.OpenFiles(s.dir))}
					s.j = must(journal.Open(store, newFIFO(), journal.Options{Retry: true, SnapshotBytes: 100_000}))
					o := s.options()
					o.Grace, o.UnsyncedStarts, o.Slots = time.Second, unsynced, 4
					s.p = must(live.New(s.j, o))
					for range 4 {
						must(s.p.Submit(bg, sleepJob))
					}
					time.Sleep(59 * time.Second) // the tasks end a second after the disk
					alive := store.dead()
					large := sleepJob
					large.Phases = []live.Phase{{Tasks: 1 << 16, Estimates: make([]time.Duration, 1<<16)}}
					for i := range large.Phases[0].Estimates {
						large.Phases[0].Estimates[i] = time.Hour
					}
					for range 5 {
						go s.p.Submit(bg, large)
					}
					time.Sleep(after)
					if n := len(s.p.Status().Slots); n != 4 {
						t.Errorf("Status has %d slots", n)
					}
					ctx, cancel := context.WithTimeout(bg, 3*time.Second)
					defer cancel()
					begun := time.Now()
					if err := end(s.p, ctx); !errors.Is(err, live.ErrStalled) || !strings.Contains(err.Error(), "answer") {
						t.Errorf("%s after %v: %v", what, after, err)
					}
					if took := time.Since(begun); took > (3+2+3)*time.Second {
						t.Errorf("%s after %v takes %v", what, after, took)
					}
					notes := len(s.notes.kinds)
					begun = time.Now()
					if err := s.j.Close(); !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), s.dir) || time.Since(begun) > 10*time.Second {
						t.Errorf("Close of the journal, after %v: %v", time.Since(begun), err)
					}
					time.Sleep(time.Hour)
					if len(s.notes.kinds) > notes {
						t.Errorf("the observer hears of a pool that was closed: %v", s.notes.kinds[notes:])
					}
					copied := t.TempDir()
					if err := os.CopyFS(copied, os.DirFS(s.dir)); err != nil {
						t.Fatal(err)
					}
					if got, want := s.again(t, copied), []string{"1/0/0#2", "2/0/0#2", "3/0/0#2", "4/0/0#2"}; !slices.Equal(got, want) {
						t.Errorf("after %s the next process starts %v, want %v", what, got, want)
					}
					alive()
					synctest.Wait()
				})
			}
		}
	}
}

// A slowly store takes so long for each sync.
type slowly struct {
	journal.Store
	takes atomic.Int64
}

func (s *slowly) Sync(segment uint64) error {
	time.Sleep(time.Duration(s.takes.Load()))
	return s.Store.Sync(segment)
}

// A sync takes 30 s. A client that waits has its job then, once; from the tenth second on who asks is told why nothing happens, and who comes then does not wait. A sync of 9 s is
// nothing to tell of.
func TestSlowSync(t *testing.T) {
	for _, takes := range []time.Duration{9 * time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := &stalled{d: new(diary), dir: t.TempDir()}
			store := &slowly{Store: must(journal.OpenFiles(s.dir))}
			s.j = must(journal.Open(store, newFIFO(), journal.Options{Retry: true}))
			s.p = must(live.New(s.j, s.options()))
			store.takes.Store(int64(takes))
			acknowledged := make(chan time.Duration)
			begun := time.Now()
			go func() {
				_ = must(s.p.Submit(bg, sleepJob))
				acknowledged <- time.Since(begun)
			}()
			for range 29 {
				time.Sleep(time.Second)
				synctest.Wait()
				at := time.Since(begun)
				if told := s.p.Err() != nil; told != (takes > 10*time.Second && at >= 10*time.Second) || told != errors.Is(s.p.Status().Err, live.ErrStalled) {
					t.Errorf("a sync of %v: Err is %v after %v", takes, s.p.Err(), at)
				}
				if at >= takes {
					break
				}
			}
			if took := <-acknowledged; took != takes {
				t.Errorf("a sync of %v: Submit returns after %v", takes, took)
			}
			store.takes.Store(0)
			time.Sleep(time.Minute)
			want := []live.NoteKind{live.PoolStalled, live.PoolMended}
			if takes < 10*time.Second {
				want = nil
			}
			if err := errors.Join(s.p.Close(bg), s.j.Close()); err != nil || !slices.Equal(s.notes.kinds, want) || len(s.told) != 1 || len(s.d.lines) != 1 {
				t.Errorf("a sync of %v: %v; the observer heard %v, want %v; OnEnd was told of %v; started %v", takes, err, s.notes.kinds, want, s.told, s.d.lines)
			}
		})
	}
}
