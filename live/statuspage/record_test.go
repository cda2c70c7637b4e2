package statuspage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// While others flood the pool, memory stays within its bounds, whatever the names are.
func TestRecorderIsBounded(t *testing.T) {
	r := NewRecorder()
	long := strings.Repeat("é", 25_000)
	at := sojourn.Time(0)
	for i := range 40_000 {
		at = at.Add(time.Second)
		j := &sojourn.Job{ID: sojourn.JobID(i + 1), Name: long, Pool: fmt.Sprint(i, long[:20]), Phases: []sojourn.Phase{{Tasks: 1}}}
		task := sojourn.TaskID{Job: j.ID}
		r.Note(live.Note{Kind: live.JobSubmitted, At: at, Job: j})
		r.Note(live.Note{Kind: live.TaskStarted, At: at, Job: j, Task: task, Attempt: 1, Slot: 1})
		err := []error{nil, errors.New(long)}[i%2]
		r.Note(live.Note{Kind: live.TaskEnded, At: at, Job: j, Task: task, Attempt: 1, Slot: 1, Err: err})
		r.Note(live.Note{Kind: live.JobEnded, At: at, Job: j, Err: err})
	}
	if len(r.tenants) > mostTenants || len(r.hour.list) != samples || len(r.ended.list) != keptJobs || len(r.failed.list) != keptJobs || len(r.spans.list) != keptSpans || len(r.bad.list) != keptSpans || len(r.jobs.parts) > 1 {
		t.Errorf("%d tenants, %d samples, %d and %d jobs, %d and %d attempts, %d parts of live jobs", len(r.tenants), len(r.hour.list), len(r.ended.list), len(r.failed.list), len(r.spans.list), len(r.bad.list), len(r.jobs.parts))
	}
	for _, g := range r.goneJobs() {
		if len(g.name) > mostText+3 || len(g.err) > mostText+3 {
			t.Fatalf("%d bytes of a name and %d of an error are kept", len(g.name), len(g.err))
		}
	}
	if got := r.goneJobs(); len(got) != 2*keptJobs || got[0].id != 40_000 || got[1].id != 39_999 {
		t.Errorf("%d jobs have ended, the last one %d", len(got), got[0].id)
	}
	// Many tenants at a time share a line.
	for i := range 2 * mostTenants {
		r.Note(live.Note{Kind: live.JobSubmitted, At: at, Job: &sojourn.Job{ID: sojourn.JobID(50_000 + i), Pool: fmt.Sprint("t", i), Phases: []sojourn.Phase{{Tasks: 1}}}})
	}
	sum := r.other.live
	for _, x := range r.tenants {
		sum += x.live
	}
	if len(r.tenants) > mostTenants || sum != 2*mostTenants || r.all.live != sum {
		t.Errorf("%d tenants with %d jobs, all have %d", len(r.tenants), sum, r.all.live)
	}
}

// Quantiles of waits are off by an eighth at most.
func TestQuantiles(t *testing.T) {
	var w window
	for i := range 1000 {
		k, _ := bin(time.Duration(i+1) * time.Second)
		w.waits[k]++
	}
	for percent, want := range map[uint64]time.Duration{50: 500 * time.Second, 90: 900 * time.Second, 1: 10 * time.Second} {
		if got, ok := w.quantile(percent); !ok || float64(got) < 0.88*float64(want) || float64(got) > 1.13*float64(want) {
			t.Errorf("%d of 100 wait at most %v, want about %v", percent, got, want)
		}
	}
	if _, ok := (&window{}).quantile(50); ok {
		t.Error("nobody has waited, and there is a median")
	}
	for i, d := range map[int]time.Duration{0: 0, bins - 1: 1 << 62} {
		if got, _ := bin(d); got != i {
			t.Errorf("a wait of %v is in bin %d, want %d", d, got, i)
		}
	}
}

// Spans are as a person says them.
func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "below 1 s", time.Second: "1 s", 119 * time.Second: "119 s", 2 * time.Minute: "2 min", 18*time.Minute + 59*time.Second: "18 min", 119 * time.Minute: "119 min",
		2 * time.Hour: "2 h 00 min", 47*time.Hour + 5*time.Minute: "47 h 05 min", 5*24*time.Hour + 3*time.Hour: "5 d 3 h", 1<<63 - 1: "106751 d 23 h", -time.Minute: "-60 s"} {
		if got := span4(d); got != want {
			t.Errorf("%v is %q, want %q", int64(d), got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1_000_000: "1,000,000", -1234: "-1,234", -123: "-123"} {
		if got := count(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// A quarter of an hour later, the windows of waits have those of the last hour alone.
func TestWindows(t *testing.T) {
	r := NewRecorder()
	x := r.tenant("web")
	at := sojourn.Time(0)
	for i := range 40 {
		at = sojourn.Time(i) * sojourn.Time(windowEvery)
		x.atNow(at).ended++
	}
	if got := x.hourOf(at, 0, windows-1).ended; got != windows {
		t.Errorf("%d have ended in the last hour, want %d", got, windows)
	}
	if a, b := x.hourOf(at, 0, 2).ended, x.hourOf(at, 3, windows-1).ended; a != 3 || b != windows-3 {
		t.Errorf("%d and %d", a, b)
	}
	at = at.Add(30 * time.Minute)
	if got := x.hourOf(at, 0, windows-1).ended; got != windows-6 {
		t.Errorf("%d half an hour later, want %d", got, windows-6)
	}
	x.atNow(at.Add(1000 * time.Hour))
	if got := x.hourOf(at.Add(1000*time.Hour), 0, windows-1).ended; got != 0 {
		t.Errorf("%d after a thousand hours", got)
	}
}

// The oldest wait counts from the end of a job's last attempt, and from the end of the process before for a job that it has left.
func TestOldestWait(t *testing.T) {
	r := NewRecorder()
	minutes := func(n int) sojourn.Time { return sojourn.Time(time.Duration(n) * time.Minute) }
	job := func(id sojourn.JobID) *sojourn.Job {
		return &sojourn.Job{ID: id, Pool: "web", Phases: []sojourn.Phase{{Tasks: 2}}}
	}
	oldest := func(now int) (sojourn.JobID, time.Duration) {
		s := &snap{now: minutes(now)}
		s.copy(r)
		return s.all.oldestJob, s.all.oldest
	}
	check := func(now int, id sojourn.JobID, want time.Duration) {
		t.Helper()
		if got, d := oldest(now); got != id || d != want {
			t.Errorf("at %d min job %d has waited %v, want job %d and %v", now, got, d, id, want)
		}
	}
	r.Note(live.Note{Kind: live.JobResumed, At: minutes(100), Job: job(1), Age: 90 * time.Minute, Took: 5 * time.Minute, Done: []int{1}})
	r.Note(live.Note{Kind: live.JobResumed, At: minutes(100), Job: job(2), Age: 80 * time.Minute, Took: 20 * time.Minute, Done: []int{0}})
	r.Note(live.Note{Kind: live.JobResumed, At: minutes(100), Job: job(3), Age: 70 * time.Minute, Took: 10 * time.Minute, Done: []int{0}})
	check(100, 2, 20*time.Minute)
	start := func(now int, id sojourn.JobID) {
		r.Note(live.Note{Kind: live.TaskStarted, At: minutes(now), Job: job(id), Task: sojourn.TaskID{Job: id}, Attempt: 1, Slot: sojourn.SlotID(id)})
	}
	end := func(now int, id sojourn.JobID, err error) {
		r.Note(live.Note{Kind: live.TaskEnded, At: minutes(now), Job: job(id), Task: sojourn.TaskID{Job: id}, Attempt: 1, Slot: sojourn.SlotID(id), Err: err})
	}
	start(101, 2)
	check(101, 3, 11*time.Minute)
	start(101, 3)
	check(101, 1, 6*time.Minute)
	start(101, 1)
	check(102, 0, 0)
	end(103, 3, nil)
	end(104, 2, nil)
	check(110, 3, 7*time.Minute)
	// What fails is failing until it has succeeded, and does not count as waiting for others.
	end(111, 1, errors.New("no"))
	if r.all.failing != 1 || r.tenants["web"].failing != 1 {
		t.Errorf("%d jobs are failing, want 1", r.all.failing)
	}
	start(112, 1)
	end(113, 1, nil)
	if r.all.failing != 0 || r.tenants["web"].failing != 0 {
		t.Errorf("%d jobs are failing after the task has succeeded", r.all.failing)
	}
}

// Those who ask while a value is made wait for it, and it is made once. One who goes meanwhile waits no longer.
func TestMemo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memo[string, int]
		made := 0
		ask := func(ctx context.Context) (int, error) {
			return m.get(ctx, "k", func() (int, error) { time.Sleep(time.Second / 2); made++; return made, nil })
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if v, err := ask(t.Context()); v != 1 || err != nil {
					t.Errorf("%d, %v", v, err)
				}
			})
		}
		all.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), time.Second/4)
			defer stop()
			synctest.Wait()
			if _, err := ask(ctx); err == nil {
				t.Error("a visitor who went has an answer")
			}
		})
		all.Wait()
		time.Sleep(time.Second)
		if v, err := ask(t.Context()); v != 2 || err != nil {
			t.Errorf("a second later: %d, %v", v, err)
		}
	})
}

// A tenant waits because of the one that is most above its share, else of the one with the most slots, and of nobody if it has its share.
func TestCulprit(t *testing.T) {
	for _, c := range []struct {
		running  [3]int
		entitled [3]float64
		want     int // -1: nobody
	}{
		{[3]int{0, 3, 3}, [3]float64{2, 1, 3}, 1},
		{[3]int{0, 2, 4}, [3]float64{2, 1, 3}, 1},
		{[3]int{0, 2, 5}, [3]float64{2, 1, 3}, 2},
		{[3]int{2, 1, 3}, [3]float64{2, 1, 3}, -1},
		{[3]int{1, 1, 3}, [3]float64{2, 1, 3}, 2},
		{[3]int{0, 2, 4}, [3]float64{-1, -1, -1}, 2},
		{[3]int{4, 2, 1}, [3]float64{-1, -1, -1}, -1},
		{[3]int{0, 0, 0}, [3]float64{-1, -1, -1}, -1},
	} {
		s := &snap{}
		for i := range c.running {
			s.tenants = append(s.tenants, row{who: &who{number: i}, tenantModel: tenantModel{Busy: c.running[i]}, entitled: c.entitled[i]})
		}
		got := -1
		if r := s.culprit(&s.tenants[0]); r != nil {
			got = r.number
		}
		if got != c.want {
			t.Errorf("%v slots, shares %v: the first waits because of %d, want %d", c.running, c.entitled, got, c.want)
		}
	}
}

// Tasks that are added to a job wait like the others, and what waits never counts below 0.
func TestAddedTasksWait(t *testing.T) {
	r := NewRecorder()
	open := &sojourn.Job{ID: 1, Pool: "web", Open: true, Phases: []sojourn.Phase{{}}}
	r.Note(live.Note{Kind: live.JobSubmitted, Job: open})
	more := *open
	more.Phases = []sojourn.Phase{{Tasks: 3}}
	r.Note(live.Note{Kind: live.JobRevised, Job: &more})
	r.Note(live.Note{Kind: live.TaskStarted, Job: &more, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: 1})
	if r.all.waiting != 2 || r.all.running != 1 || r.jobs.get(1).waiting != 2 {
		t.Errorf("%d tasks wait and %d run, want 2 and 1", r.all.waiting, r.all.running)
	}
}

// A short text keeps nothing of the long one alive of which it is the beginning.
func TestShortTextsAreCopies(t *testing.T) {
	long := strings.Repeat("a", mostText) + "\n" + strings.Repeat("b", 1<<20)
	if s := short(long[:mostText]); unsafe.StringData(s) == unsafe.StringData(long) {
		t.Error("the text is a part of the long one")
	}
}

// A table has the jobs that were put in, in the order of their IDs, whatever those are, and parts that are not nearly empty.
func TestJobTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round, id := range []func(i int) sojourn.JobID{
		func(i int) sojourn.JobID { return sojourn.JobID(i + 1) },
		func(i int) sojourn.JobID { return sojourn.JobID(100_000 - i) },
		func(i int) sojourn.JobID { return 1<<40 + sojourn.JobID(i)*1_000_000 },
		func(int) sojourn.JobID { return sojourn.JobID(rng.Uint64()) },
		func(int) sojourn.JobID { return 1 + sojourn.JobID(rng.IntN(60_000)) },
	} {
		var table jobTable
		want := map[sojourn.JobID]*job{}
		check := func() {
			t.Helper()
			n, last := 0, sojourn.JobID(0)
			for list := table.from(0); list != nil; list = table.from(last + 1) {
				for _, j := range list {
					if n++; j.spec.ID <= last || want[j.spec.ID] != j || table.get(j.spec.ID) != j {
						t.Fatalf("round %d: job %d after %d", round, j.spec.ID, last)
					}
					last = j.spec.ID
				}
			}
			if n != len(want) || len(table.parts) > 2+4*n/chunk {
				t.Fatalf("round %d: %d jobs in %d parts, want %d", round, n, len(table.parts), len(want))
			}
		}
		for i := range 30_000 {
			j := &job{spec: &sojourn.Job{ID: id(i)}}
			if want[j.spec.ID] == nil {
				want[j.spec.ID] = j
				table.put(j)
			}
			if table.get(j.spec.ID+1) != want[j.spec.ID+1] {
				t.Fatalf("round %d: job %d is found", round, j.spec.ID+1)
			}
		}
		check()
		for _, most := range []int{20_000, 700, 3, 0} {
			for id := range want {
				if len(want) == most {
					break
				}
				table.remove(id)
				delete(want, id)
			}
			check()
		}
	}
}

// Names that differ have keys that differ, and nobody finds a name that has the key of another one.
func TestKeys(t *testing.T) {
	of := map[string]string{}
	for _, name := range []string{"", noTenant, "web", "#", "~", "# web", strings.Repeat("a", 100), strings.Repeat("a", 101), strings.Repeat("a", 102), "a\u200bb", "ab", "\xff", "a\xff", keyOf(""), keyOf("\xff"), "~" + keyOf("\xff")[1:]} {
		key := keyOf(name)
		if was, ok := of[key]; ok || len(key) > 100 {
			t.Errorf("%q and %q have the key %q", was, name, key)
		}
		of[key] = name
	}
	if keyOf("~0123456789abcdef") != "~0123456789abcdef" || len(keyOf(strings.Repeat("a", 200))) != 1+32 {
		t.Error("a plain name is its own key, and others have 128 bits of a hash that nobody can forge")
	}
}

// What is kept of the last hour keeps no long name alive.
func TestLongNamesGo(t *testing.T) {
	r := NewRecorder()
	long := strings.Repeat("é", 25_000)
	for i := range 3 * mostTenants {
		at := sojourn.Time(i) * sojourn.Time(time.Second)
		j := &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: fmt.Sprint(i, long), Phases: []sojourn.Phase{{Tasks: 1}}}
		r.Note(live.Note{Kind: live.JobSubmitted, At: at, Job: j})
		r.Note(live.Note{Kind: live.TaskStarted, At: at, Job: j, Attempt: 1})
		r.Note(live.Note{Kind: live.TaskEnded, At: at.Add(time.Second), Job: j, Attempt: 1})
		r.Note(live.Note{Kind: live.JobEnded, At: at.Add(time.Second), Job: j})
	}
	r.spans.each(func(x *span) {
		if x.who != nil {
			t.Fatal("an attempt keeps its tenant")
		}
	})
	r.hour.each(func(x *sample) {
		for _, p := range x.of {
			if p.who != nil && len(p.name) > mostText+11 {
				t.Fatalf("a sample keeps %d bytes of a name", len(p.name))
			}
		}
	})
}

// A page is drawn while the next snapshot is loaded: the race detector sees what they share.
func TestDrawnWhileLoaded(t *testing.T) {
	r := NewRecorder()
	st := live.Status{Now: sojourn.Time(time.Hour)}
	for i := range 50 {
		st.Jobs = append(st.Jobs, live.JobStatus{ID: sojourn.JobID(i + 1), Pool: fmt.Sprint("t", i%5), Progress: live.Progress{Tasks: 2, Running: 1, Failed: i % 2}})
		st.Slots = append(st.Slots, live.SlotStatus{Busy: true, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}, Task: sojourn.TaskID{Job: sojourn.JobID(i + 1)}})
	}
	r.load(&st)
	s := &snap{now: st.Now, st: st}
	s.copy(r)
	var all sync.WaitGroup
	all.Go(func() {
		for range 20 {
			r.load(&st)
		}
	})
	if err := r.walk(t.Context(), s, func(*job) bool { return true }, func(x listed) { x.is("failing"); _ = x.tenant.key + x.tenant.name }); err != nil {
		t.Error(err)
	}
	if c := s.charts(); !strings.Contains(string(c[1].SVG), ">t4</text>") {
		t.Errorf("the chart is %s", c[1].SVG)
	}
	s.say()
	all.Wait()
}
