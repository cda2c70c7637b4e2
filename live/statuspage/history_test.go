package statuspage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// pooled calls f with a pool under fair, its recorder and its page. Tenants web, etl and research have weights 3, 2 and 1.
func pooled(t *testing.T, slots int, o []statuspage.Option, f func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler)) {
	synctest.Test(t, func(t *testing.T) {
		policy, err := fair.New(fair.Options{Pools: map[string]fair.Pool{"web": {Weight: 3}, "etl": {Weight: 2}, "research": {Weight: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		r := statuspage.NewRecorder()
		p, err := live.New(policy, live.Options{Slots: slots, Observer: r, Retry: live.Retry{Attempts: 3, Backoff: time.Minute, MaxBackoff: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		f(t, p, r, statuspage.Handler(p, append(o, statuspage.WithRecorder(r))...))
		for _, h := range p.Handles() {
			h.Cancel()
		}
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := r.Left(); left != "" {
			t.Errorf("after the end of all jobs there are %s", left)
		}
	})
}

func submit(t *testing.T, p *live.Pool, name, tenant string, tasks int, run func(context.Context, live.Task) error) *live.Handle {
	t.Helper()
	h, err := p.Submit(t.Context(), live.Job{Name: name, Pool: tenant, Phases: []live.Phase{{Tasks: tasks, Run: run}}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// lasts is a task that takes so long.
func lasts(d time.Duration) func(context.Context, live.Task) error {
	return func(ctx context.Context, _ live.Task) error {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		return context.Cause(ctx)
	}
}

func ask(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

// The counts that are kept as things happen are those of the pool's status, at each moment of a random history.
func TestCountsAreThoseOfStatus(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		pooled(t, 3, nil, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
			tenants := []string{"web", "etl", "research", "", "a/b"}
			for range 60 {
				switch rng.IntN(5) {
				case 0, 1:
					fails := rng.IntN(3) == 0
					job := live.Job{Name: "j", Pool: tenants[rng.IntN(len(tenants))], MaxFailedTasks: rng.IntN(2), Phases: []live.Phase{{Tasks: 1 + rng.IntN(4), Run: func(ctx context.Context, task live.Task) error {
						err := lasts(time.Duration(1+task.Index)*7*time.Second)(ctx, task)
						if fails && task.Index%2 == 0 && task.Attempt < 3+task.Index%4 {
							return errors.New("it fails")
						}
						return err
					}}}}
					if rng.IntN(2) == 0 {
						job.Deadline = time.Duration(1+rng.IntN(60)) * time.Second
					}
					if _, err := p.Submit(t.Context(), job); err != nil {
						t.Fatal(err)
					}
				case 2:
					if hs := p.Handles(); len(hs) > 0 && rng.IntN(3) == 0 {
						hs[rng.IntN(len(hs))].Cancel()
					}
				case 3:
					if id := sojourn.SlotID(rng.IntN(3)); p.Remove(id) == nil {
						if _, err := p.AddSlots(1, sojourn.Slot{}); err != nil {
							t.Fatal(err)
						}
					}
				}
				time.Sleep(time.Duration(rng.IntN(20_000)) * time.Millisecond)
				synctest.Wait()
				st := p.Status()
				want := map[string][6]int{}
				for i := range st.Jobs {
					j := &st.Jobs[i]
					c := want[j.Pool]
					c[0]++
					c[2] += j.Progress.Running
					if j.Progress.Err == nil { // else what is left is not known
						c[1] += j.Progress.Tasks - j.Progress.Done - j.Progress.Running - j.Progress.FailedTasks
					} else {
						c[1] = -1000
					}
					if j.Deadline > 0 && j.Deadline < st.Now {
						c[3]++
					}
					if j.Progress.Running == 0 {
						c[4]++
					}
					if j.Progress.Failed > 0 {
						c[5]++
					}
					want[j.Pool] = c
				}
				for _, name := range tenants {
					got, err := r.Counts(name, st.Now)
					if err != nil {
						t.Error(err)
					}
					if want[name][1] < 0 {
						got[1] = want[name][1]
					}
					if got != want[name] {
						t.Errorf("seed %d at %v, tenant %q: jobs, waiting, running, late, idle, failing %v, want %v", seed, st.Now, name, got, want[name])
					}
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// At a million live jobs, a page or a list looks at so many jobs at most at a time while others wait for the recorder, and asks the
// pool about the jobs on the page alone.
func TestMillionJobs(t *testing.T) {
	r := statuspage.NewRecorder()
	l := &counting{}
	r.Watch(l)
	const n = 1_000_000
	jobs := make([]sojourn.Job, n)
	phases := []sojourn.Phase{{Tasks: 1}}
	for i := range jobs {
		jobs[i] = sojourn.Job{ID: sojourn.JobID(i + 1), Name: "job", Pool: []string{"web", "etl", "research"}[i%3], Phases: phases}
		if i == n/2 {
			jobs[i].Name = "the needle"
		}
		r.Note(live.Note{Kind: live.JobSubmitted, At: sojourn.Time(i) * sojourn.Time(time.Millisecond), Job: &jobs[i]})
	}
	policy, err := fair.New(fair.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := live.New(policy, live.Options{Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	h := statuspage.Handler(p, statuspage.WithRecorder(r))
	for path, want := range map[string]string{"/": "1–50 of 1,000,000", "/?state=all&q=needle": "1–1 of 1", "/?state=all&page=20000": "999,951", "/?state=all&pool=web&jobs=500": "of 333,334", "/job/77": "Job 77 job"} {
		l.most = 0
		w := ask(h, path)
		if body := strings.ReplaceAll(w.Body.String(), "999951", "999,951"); w.Code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d, want %s:\n%s", path, w.Code, want, body)
		}
		if size := w.Body.Len(); size > 300_000 && !strings.Contains(path, "500") {
			t.Errorf("%s: %d bytes", path, size)
		}
		if l.most > 500 {
			t.Errorf("%s: the pool is asked about %d jobs at a time", path, l.most)
		}
	}
	longest, seen, err := r.WalkUntil(p, 10)
	if longest > statuspage.Chunk {
		t.Errorf("%d jobs were looked at while the recorder was locked", longest)
	}
	// A request that is gone looks at no more jobs than one chunk has.
	if !errors.Is(err, context.Canceled) || seen > statuspage.Chunk {
		t.Errorf("after the visitor has gone %d jobs were looked at: %v", seen, err)
	}
}

// counting is a pool of which only the questions count.
type counting struct{ most int }

func (c *counting) Status(ids []sojourn.JobID) (st live.Status, next []sojourn.Time) {
	c.most = max(c.most, len(ids))
	st.Now = sojourn.Time(1000 * time.Second)
	for _, id := range ids {
		st.Jobs = append(st.Jobs, live.JobStatus{ID: id, Name: "job", Progress: live.Progress{Tasks: 1}})
		next = append(next, 0)
	}
	return st, next
}

func (c *counting) Stuck(ids []sojourn.JobID) []bool { return make([]bool, len(ids)) }

func (c *counting) Void() []sojourn.JobID { return nil }

func (c *counting) Hasten(sojourn.JobID) bool { return false }

// However many visitors ask within a second, the pool is asked once.
func TestOneSnapshotASecond(t *testing.T) {
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		asked := &asking{Looker: r.Pool()}
		r.Watch(asked)
		for range 5 {
			for range 100 {
				if w := ask(h, "/"); w.Code != 200 {
					t.Fatal(w.Code)
				}
			}
			time.Sleep(time.Second)
		}
		if asked.n != 5*2 { // the state, and the jobs of the list
			t.Errorf("500 visitors in 5 s asked the pool %d times, want 10", asked.n)
		}
	})
}

type asking struct {
	statuspage.Looker
	n int
}

func (a *asking) Status(ids []sojourn.JobID) (live.Status, []sojourn.Time) {
	a.n++
	return a.Looker.Status(ids)
}

// A job whose first two attempts have failed waits for the third: the list says when it comes and why, the page of the job has its
// attempts, and when it has failed for good it stays for an hour.
func TestAttemptsAndErrors(t *testing.T) {
	pooled(t, 2, nil, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		boom := errors.New("exit status 137: out of memory")
		submit(t, p, "render", "web", 1, func(ctx context.Context, task live.Task) error {
			time.Sleep(10 * time.Second)
			return boom
		})
		time.Sleep(81 * time.Second) // attempts end at 10 s and 80 s, and the third begins at 200 s
		synctest.Wait()
		third := time.Now().Add(119 * time.Second).Format("15:04:05")
		if body := ask(h, "/?state=failing").Body.String(); !strings.Contains(body, "retries at "+third+" · exit status 137: out of memory") {
			t.Errorf("want a retry at %s:\n%s", third, body)
		}
		body := ask(h, "/job/1").Body.String()
		if n := strings.Count(body, `<rect class="fails"`); n != 2 || strings.Count(body, "exit status 137") < 4 {
			t.Errorf("%d bars of failures:\n%s", n, body)
		}
		time.Sleep(130 * time.Second)
		synctest.Wait()
		for _, path := range []string{"/?state=ended", "/job/1"} {
			if body := ask(h, path).Body.String(); !strings.Contains(body, "out of memory") || !strings.Contains(body, "failed") {
				t.Errorf("after the end %s is\n%s", path, body)
			}
		}
		if n := strings.Count(ask(h, "/job/1").Body.String(), `<rect class="fails"`); n != 3 {
			t.Errorf("%d bars of failures, want 3", n)
		}
		submit(t, p, "well", "web", 7, lasts(time.Second))
		time.Sleep(10 * time.Second)
		if body := ask(h, "/?state=ended&q=well").Body.String(); !strings.Contains(body, "7 of 7") || !strings.Contains(body, "ended without an error") {
			t.Errorf("a job that has ended well:\n%s", body)
		}
		time.Sleep(time.Hour)
		if w := ask(h, "/job/1"); w.Code != 404 {
			t.Errorf("an hour after its end: %d", w.Code)
		}
	})
}

// Of three tenants, research floods, and etl comes late: the sentence names both.
func TestSentence(t *testing.T) {
	pooled(t, 6, nil, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		says := func() string {
			var pg statuspage.Page
			if err := json.Unmarshal(ask(h, "/status.json").Body.Bytes(), &pg); err != nil {
				t.Fatal(err)
			}
			return pg.Says
		}
		if got := says(); got != "Idle: 6 of 6 slots are free. No job has come yet: submit one." {
			t.Errorf("without jobs: %s", got)
		}
		begun := time.Now()
		submit(t, p, "search", "web", 100, lasts(time.Hour))
		time.Sleep(time.Second)
		if got := says(); got != "All is well: 6 of 6 slots are busy, and no job waits for others." {
			t.Errorf("one job: %s", got)
		}
		time.Sleep(time.Minute)
		submit(t, p, "load", "etl", 3, lasts(time.Minute))
		time.Sleep(18 * time.Minute)
		want := fmt.Sprintf("etl waits 18 min: web holds 6 of 6 slots, 2.4 above its share since %s, most of them in job 1. etl has 0 of the 2.4 it is entitled to. What would help: a limit for web, or more slots. What if there were 1 slot more?", begun.Add(time.Minute).Format("15:04:05"))
		if got := says(); !strings.HasPrefix(got, want[:strings.Index(want, " since")]) || !strings.HasSuffix(got, want[strings.Index(want, ", most"):]) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		submit(t, p, "more", "web", 100, lasts(time.Hour))
		if err := p.ChangePool("etl", func(n *sojourn.Pool) { n.Paused = true }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if got := says(); !strings.Contains(got, "web waits 5 min behind its own tasks: it has 6 of 6 slots, its share, and 194 tasks wait. etl is paused, and 3 tasks of it wait, the oldest for 23 min.") {
			t.Errorf("etl is paused: %s", got)
		}
	})
}

// The sentence names who floods, whether nobody divides the slots, the weights do, or a limit holds back; and how many others wait.
func TestSentencesOfFloods(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy func() (sojourn.Policy, error)
		others []string // each submits two tasks after web
		want   string
	}{
		{"no shares", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }, []string{"web", "etl", "research"},
			"etl waits 10 min, and so does research: web holds 8 of 8 slots since 00:00, most of them in job 1. What would help: a policy that divides slots among tenants, such as fair, or more slots. What if there were 1 slot more?"},
		{"many wait", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }, []string{"etl", "research", "a", "b"},
			"etl waits 10 min, and so do 3 other tenants: web holds 8 of 8 slots, 6.4 above its share since 00:00, most of them in job 1. etl has 0 of the 1.6 it is entitled to. What would help: a limit for web, or more slots. What if there were 1 slot more?"},
		{"a weight", func() (sojourn.Policy, error) {
			return fair.New(fair.Options{Order: fair.Running, Pools: map[string]fair.Pool{"web": {Weight: 7}}})
		}, []string{"etl", "etl", "research"},
			"etl waits 10 min: web holds 6 of 8 slots, by its weight of 7, since 00:00, most of them in job 1. etl has 1, about its share of 0.9. What would help: a lower weight for web, or more slots. What if there were 1 slot more?"},
		{"a limit", func() (sojourn.Policy, error) {
			return fair.New(fair.Options{Pools: map[string]fair.Pool{"web": {Max: fair.Slots{0: 4}}}})
		}, nil, "web runs 4 tasks, its limit, and 988 tasks of it wait. A higher limit would help it. 4 of 8 slots are busy, and no job waits for others."},
		{"a limit of jobs", func() (sojourn.Policy, error) {
			return fair.New(fair.Options{Pools: map[string]fair.Pool{"etl": {MaxJobs: 1}, "web": {Max: fair.Slots{0: 4}}}})
		}, []string{"etl", "etl"}, "etl runs 1 job, its limit, and 2 tasks of it wait, the oldest for 10 min. A higher limit would help it. web is at its limit, too. 6 of 8 slots are busy, and no job waits for others."},
		{"one of two classes", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }, []string{"etl/gpu", "research/gpu", "etl"},
			"etl waits 10 min, and so does research: web holds 2 of 2 slots of class 1, 1.3 above its share since 00:03, most of them in job 2. etl has 0 of the 0.7 it is entitled to. What would help: a limit for web, or more slots of class 1. "},
		{"itself", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }, []string{"web"},
			"web waits 10 min behind its own tasks: it has 8 of 8 slots, its share, and 986 tasks wait. Nobody else waits long. More slots would help, or fewer tasks. What if there were 1 slot more?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy, err := c.policy()
				if err != nil {
					t.Fatal(err)
				}
				r := statuspage.NewRecorder()
				p, err := live.New(policy, live.Options{Slots: 8, Observer: r})
				if err != nil {
					t.Fatal(err)
				}
				tasks := 1000
				if strings.Contains(c.want, "class") {
					tasks = 12
					if _, err := p.AddSlots(2, sojourn.Slot{Class: 1}); err != nil {
						t.Fatal(err)
					}
				}
				submit(t, p, "reindex", "web", tasks, func(ctx context.Context, task live.Task) error {
					if task.Index < 8 {
						return lasts(time.Duration(1+task.Index)*time.Second)(ctx, task)
					}
					return lasts(9*time.Hour)(ctx, task)
				})
				if tasks == 12 {
					time.Sleep(3 * time.Minute)
					if _, err := p.Submit(t.Context(), live.Job{Pool: "web", Phases: []live.Phase{{Tasks: 3, Class: 1, Run: lasts(9 * time.Hour)}}}); err != nil {
						t.Fatal(err)
					}
				}
				if !strings.Contains(c.want, "by its weight") { // else they come before the slots are free
					time.Sleep(10 * time.Second)
				}
				for _, name := range c.others {
					job := live.Job{Pool: strings.TrimSuffix(name, "/gpu"), Phases: []live.Phase{{Tasks: 2, Run: lasts(9 * time.Hour)}}}
					if job.Pool != name {
						job.Phases[0].Class = 1
					}
					if _, err := p.Submit(t.Context(), job); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(10 * time.Minute)
				h := statuspage.Handler(p, statuspage.WithRecorder(r))
				if text, want := ask(h, "/").Body.String(), "<b>8 of 10</b> slots busy<small>class 0: 6 of 8; class 1: 2 of 2</small>"; strings.Contains(text, "class 0: ") != (tasks == 12) || tasks == 12 && !strings.Contains(text, want) {
					t.Errorf("the page lacks %s:\n%s", want, text)
				}
				if want := `its tenant has 0 of the 0.7 slots of class 1 of its share; <a href="job/2">job 2</a> of web has 2`; tasks == 12 && !strings.Contains(ask(h, "/").Body.String(), want) {
					t.Errorf("the list lacks %s", want)
				}
				got := pageOf(t, h, "").Says
				if got = regexp.MustCompile(`since 00:(0\d):[01]\d`).ReplaceAllString(got, "since 00:$1"); got != c.want { // samples are 10 s apart
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				leavesNothing(t, p, r)
			})
		})
	}
}

// atomicAsking counts how often it is asked.
type atomicAsking struct {
	statuspage.Looker
	n atomic.Int64
}

func (a *atomicAsking) Status(ids []sojourn.JobID) (live.Status, []sojourn.Time) {
	a.n.Add(1)
	return a.Looker.Status(ids)
}

// slowly answers after a second.
type slowly struct{ statuspage.Looker }

func (s slowly) Status(ids []sojourn.JobID) (live.Status, []sojourn.Time) {
	time.Sleep(time.Second)
	return s.Looker.Status(ids)
}

// Where many search at once, those whose turn would come late are told to come again. Who looks at the page meanwhile does not wait for them.
func TestManySearches(t *testing.T) {
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		r.Watch(slowly{r.Pool()})
		submit(t, p, "j", "web", 3, lasts(time.Hour))
		for _, path := range []string{"/?q=", "/status.json?q=", "/jobs.csv?q="} {
			begun := time.Now()
			var all sync.WaitGroup
			var served, refused atomic.Int64
			for i := range 300 {
				all.Go(func() {
					switch w := ask(h, fmt.Sprint(path, i)); {
					case w.Code == 200:
						served.Add(1)
					case w.Code == 503 && w.Header().Get("Retry-After") == "2" && w.Header().Get("Content-Security-Policy") != "":
						refused.Add(1)
					default:
						t.Errorf("%s: %d", path, w.Code)
					}
				})
			}
			time.Sleep(1500 * time.Millisecond) // the snapshot is there
			if w := ask(h, "/"); w.Code != 200 || time.Since(begun) > 4*time.Second {
				t.Errorf("%s: another visitor has waited %v: %d", path, time.Since(begun), w.Code)
			}
			if all.Wait(); served.Load() != 16 || refused.Load() != 284 {
				t.Errorf("%s: %d are served, %d refused, want 16 and 284", path, served.Load(), refused.Load())
			}
			time.Sleep(5 * time.Second)
		}
	})
}

// The first 50 jobs of an answer are explained, and an answer is made once a second for all who ask for it.
func TestExplainsAreShared(t *testing.T) {
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		asked := &asking{Looker: r.Pool()}
		r.Watch(asked)
		for range 200 {
			submit(t, p, "j", "web", 1, lasts(time.Hour))
		}
		for range 20 {
			n := 0
			for _, j := range pageOf(t, h, "?jobs=500").Jobs {
				if len(j.Explain) > 0 {
					n++
				}
			}
			if n != 50 {
				t.Fatalf("%d jobs are explained, want 50", n)
			}
		}
		if asked.n != 2 { // the state, and the jobs of the list
			t.Errorf("the pool is asked %d times, want 2", asked.n)
		}
	})
}

// A stream ends after half a minute, so that a server that stops need not wait for visitors; when the pool has nothing to do any more; and
// when a policy panics, which ends nothing else.
func TestStreamsEnd(t *testing.T) {
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		watch := func() (took func() time.Duration) {
			begun, done := time.Now(), make(chan time.Duration, 1)
			go func() {
				if w := ask(h, "/events"); !strings.Contains(w.Body.String(), "retry: ") {
					t.Errorf("%d: %s", w.Code, w.Body)
				}
				done <- time.Since(begun)
			}()
			return func() time.Duration { return <-done }
		}
		j := submit(t, p, "j", "web", 1, lasts(time.Hour))
		one, two := watch(), watch()
		if a, b := one(), two(); a != 30*time.Second || b != a {
			t.Errorf("streams end after %v and %v, want 30 s", a, b)
		}
		look := r.Pool()
		synctest.Wait() // the stream has gone
		r.Watch(panics{look})
		if took := watch()(); took > 2*time.Second {
			t.Errorf("a stream ends %v after a panic", took)
		}
		synctest.Wait()
		r.Watch(look)
		third := watch()
		j.Cancel()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := third(); took > 2*time.Second {
			t.Errorf("a stream ends %v after the pool", took)
		}
	})
}

// panics is a pool that cannot be looked at.
type panics struct{ statuspage.Looker }

func (panics) Status([]sojourn.JobID) (live.Status, []sojourn.Time) { panic("a policy") }
