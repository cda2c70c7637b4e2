package statuspage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/kit/release"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// pageOf returns the page as JSON.
func pageOf(t *testing.T, h http.Handler, query string) (pg statuspage.Page) {
	t.Helper()
	if err := json.Unmarshal(ask(h, "/status.json"+query).Body.Bytes(), &pg); err != nil {
		t.Fatal(err)
	}
	return pg
}

// An open job without a task to run waits for nobody. With one it waits from then on.
func TestOpenJobsWithoutTasks(t *testing.T) {
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, _ *statuspage.Recorder, h http.Handler) {
		j, err := p.Submit(t.Context(), live.Job{Name: "session", Pool: "etl", Open: true, Phases: []live.Phase{{Tasks: 1, Run: lasts(time.Second)}}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		submit(t, p, "long", "web", 1, lasts(10*time.Hour))
		time.Sleep(time.Hour)
		if pg := pageOf(t, h, "?state=waiting"); pg.Found != 0 || pg.Oldest != 0 || !strings.HasPrefix(pg.Says, "All is well") {
			t.Errorf("%d jobs wait, the oldest for %v s: %s", pg.Found, pg.Oldest, pg.Says)
		}
		if body := ask(h, "/?state=all").Body.String(); !strings.Contains(body, "open: it has no task to run now") || !strings.Contains(body, "Running 1</a>") {
			t.Errorf("the page does not say why nothing of it runs:\n%s", body)
		}
		if _, err := j.Add(0, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if pg := pageOf(t, h, "?state=waiting"); pg.Found != 1 || pg.Oldest != 60 {
			t.Errorf("%d jobs wait, the oldest for %v s, want 1 and 60", pg.Found, pg.Oldest)
		}
	})
}

// A job that has failed waits for others like any other, when its time to be tried again has come and when it has succeeded. What has
// failed or may not start yet hides nobody who waits, however many there are.
func TestWhoWaits(t *testing.T) {
	fails := func(times uint32) func(context.Context, live.Task) error {
		return func(_ context.Context, task live.Task) error {
			if task.Attempt <= times {
				return errors.New("once")
			}
			return nil
		}
	}
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, _ *statuspage.Recorder, h http.Handler) {
		submit(t, p, "again", "etl", 1, fails(1))
		synctest.Wait()
		submit(t, p, "flood", "web", 9, lasts(time.Hour))
		time.Sleep(30 * time.Second)
		submit(t, p, "more", "web", 9, lasts(time.Hour))
		if pg := pageOf(t, h, "?pool=etl"); pg.Tenants[len(pg.Tenants)-1].Oldest != 0 || pg.Failing != 1 {
			t.Errorf("before it is tried again: %+v", pg.Tenants)
		}
		time.Sleep(30 * time.Minute)
		if pg := pageOf(t, h, ""); !strings.HasPrefix(pg.Says, "etl waits 30 min: web holds 1 of 1 slots") {
			t.Errorf("half an hour later: %s", pg.Says)
		}
		if err := p.ChangePool("web", func(n *sojourn.Pool) { n.Paused = true }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if pg := pageOf(t, h, "?state=all&pool=etl"); pg.Found != 0 || pg.Failing != 0 {
			t.Errorf("it has not succeeded: %+v", pg.Jobs)
		}
	})
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, _ *statuspage.Recorder, h http.Handler) {
		for range 200 {
			if _, err := p.Submit(t.Context(), live.Job{Pool: "etl", Retry: &live.Retry{Attempts: 2, Backoff: 99 * time.Hour, MaxBackoff: 99 * time.Hour}, Phases: []live.Phase{{Tasks: 1, Run: fails(1)}}}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		submit(t, p, "flood", "web", 9, lasts(time.Hour))
		two := submit(t, p, "two", "etl", 2, func(ctx context.Context, task live.Task) error {
			if task.Index == 0 {
				return fails(1)(ctx, task)
			}
			return nil
		})
		time.Sleep(20 * time.Minute)
		if pg := pageOf(t, h, ""); !strings.HasPrefix(pg.Says, "etl waits 20 min: web holds 1 of 1 slots") {
			t.Errorf("behind 200 that have failed: %s", pg.Says)
		}
		two.Cancel()
	})
}

// What was said of a job that cannot go on is not said any more when it can.
func TestStuckNoMore(t *testing.T) {
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, _ *statuspage.Recorder, h http.Handler) {
		var inner *live.Handle
		submit(t, p, "outer", "web", 1, func(ctx context.Context, _ live.Task) error {
			inner = submit(t, p, "inner", "web", 1, lasts(time.Hour))
			return inner.Wait(ctx)
		})
		time.Sleep(time.Minute)
		if says := pageOf(t, h, "").Says; !strings.Contains(says, "Job 1 cannot go on: live: a task waits for itself") {
			t.Errorf("a deadlock: %s", says)
		}
		if _, err := p.AddSlots(1, sojourn.Slot{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if says, body := pageOf(t, h, "").Says, ask(h, "/job/1").Body.String(); strings.Contains(says, "cannot go on") || strings.Contains(body, "waits for itself") {
			t.Errorf("a slot later: %s\n%s", says, body)
		}
		gpu, err := p.Submit(t.Context(), live.Job{Name: "gpu", Pool: "etl", Phases: []live.Phase{{Tasks: 2, Class: 1, Run: lasts(time.Hour)}}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if says := pageOf(t, h, "").Says; !strings.Contains(says, "cannot go on: live: no slots of a class") {
			t.Errorf("a class without slots: %s", says)
		}
		if err := p.ChangePool("etl", func(n *sojourn.Pool) { n.Paused = true }); err != nil {
			t.Fatal(err)
		}
		if _, err := p.AddSlots(1, sojourn.Slot{Class: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if says := pageOf(t, h, "").Says; strings.Contains(says, "cannot go on") || !strings.Contains(says, "etl is paused") {
			t.Errorf("the class has a slot: %s", says)
		}
		gpu.Cancel()
	})
}

// A job that was cancelled has not failed, nor have its attempts.
func TestCancelledHaveNotFailed(t *testing.T) {
	pooled(t, 2, nil, func(t *testing.T, p *live.Pool, _ *statuspage.Recorder, h http.Handler) {
		j := submit(t, p, "slow to stop", "web", 2, func(ctx context.Context, task live.Task) error {
			<-ctx.Done()
			time.Sleep(time.Duration(1+task.Index) * 2 * time.Second)
			return context.Cause(ctx)
		})
		time.Sleep(time.Second)
		j.Cancel()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if pg := pageOf(t, h, ""); pg.Failing != 0 || pg.Live != 1 {
			t.Errorf("%d of %d jobs are failing", pg.Failing, pg.Live)
		}
		time.Sleep(time.Minute)
		if pg := pageOf(t, h, ""); pg.Tenants[0].Ended != 1 || pg.Tenants[0].Failed != 0 || !strings.Contains(pg.Says, " early: live: the job was cancelled.") {
			t.Errorf("%+v: %s", pg.Tenants[0], pg.Says)
		}
		if body := ask(h, "/?state=ended").Body.String(); !strings.Contains(body, "live: the job was cancelled") || strings.Contains(body, `<b class="mark">failed</b>`) {
			t.Errorf("the list:\n%s", body)
		}
	})
}

// Tenants below a pool with an order of its own have no shares by themselves, nor has anybody where something else than slots is divided.
func TestSharesThatNobodyKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []fair.Options{
			{Pools: map[string]fair.Pool{"web": {FIFO: true}}},
			{Cost: fair.Cost{0: {1, 2}}},
		} {
			policy, err := fair.New(o)
			if err != nil {
				t.Fatal(err)
			}
			r := statuspage.NewRecorder()
			p, err := live.New(policy, live.Options{Slots: 4, Observer: r})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"web/a", "web/b", "etl"} {
				submit(t, p, "j", name, 9, lasts(time.Hour))
			}
			time.Sleep(time.Minute)
			for _, x := range pageOf(t, statuspage.Handler(p, statuspage.WithRecorder(r)), "").Tenants {
				if want := o.Cost == nil && x.Name == "etl"; (x.Entitled != nil) != want || want && *x.Entitled != 2 {
					t.Errorf("%s with %d of 4 slots is entitled to %v", x.Name, x.Busy, x.Entitled)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			stop()
			_ = p.Close(ctx)
		}
	})
}

// A promising policy cannot keep what it has promised to some jobs.
type promising struct {
	sojourn.Policy
	broken []sojourn.JobID
}

func (p promising) Unwrap() sojourn.Policy                         { return p.Policy }
func (p promising) AppendVoid(dst []sojourn.JobID) []sojourn.JobID { return append(dst, p.broken...) }
func (p promising) Void(id sojourn.JobID) (why string, ok bool) {
	return "slots are gone", id == p.broken[0]
}

// Above 1,000 live jobs, those count as late whose promises do not hold, and the slots are divided among all tenants, of which 200
// are listed.
func TestManyTenantsAndPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy, err := fair.New(fair.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := statuspage.NewRecorder()
		p, err := live.New(promising{policy, []sojourn.JobID{7}}, live.Options{Slots: 64, Observer: r})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1200 {
			submit(t, p, "j", fmt.Sprint("t", i%400), 1, lasts(time.Hour))
		}
		time.Sleep(time.Minute)
		h := statuspage.Handler(p, statuspage.WithRecorder(r))
		pg := pageOf(t, h, "")
		if pg.Late != 1 {
			t.Errorf("%d jobs are late, want 1", pg.Late)
		}
		if late := pageOf(t, h, "?state=late"); late.Found != 1 || len(late.Jobs) != 1 || late.Jobs[0].ID != 7 {
			t.Errorf("late are %+v", late.Jobs)
		}
		if len(pg.Tenants) != 200 || pg.Tenants[0].Entitled == nil || math.Abs(*pg.Tenants[0].Entitled-64./400) > 1e-9 {
			t.Errorf("%d tenants, the first is entitled to %v, want %v", len(pg.Tenants), *pg.Tenants[0].Entitled, 64./400)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		_ = p.Close(ctx)
	})
}

// Who holds the slots may have few tasks: since when is said though nine tenants have more.
func TestSinceWhenOfFewTasks(t *testing.T) {
	for _, classes := range []int{1, 2} {
		pooled(t, 32, nil, func(t *testing.T, p *live.Pool, _ *statuspage.Recorder, h http.Handler) {
			class := sojourn.Class(classes - 1)
			if classes == 2 {
				if _, err := p.AddSlots(4, sojourn.Slot{Class: 1}); err != nil {
					t.Fatal(err)
				}
			}
			job := func(tenant string, c sojourn.Class, tasks int, each time.Duration) {
				if _, err := p.Submit(t.Context(), live.Job{Pool: tenant, Phases: []live.Phase{{Tasks: tasks, Class: c, Run: lasts(each)}}}); err != nil {
					t.Fatal(err)
				}
			}
			job("long", class, []int{24, 4}[classes-1], 10*time.Hour)
			if classes == 2 {
				job("rest", 0, 32, 10*time.Hour)
			}
			time.Sleep(5 * time.Minute)
			if classes == 2 {
				job("poor", 1, 3, time.Hour)
				time.Sleep(time.Minute)
			}
			for i := range 9 {
				job(fmt.Sprint("t", i), 0, 100, time.Hour)
			}
			time.Sleep(20 * time.Minute)
			says := pageOf(t, h, "").Says
			if !strings.Contains(says, "long holds "+[]string{"24 of 32 slots", "4 of 4 slots of class 1"}[classes-1]) || !strings.Contains(says, " since 00:00:10") { // the first sample
				t.Errorf("classes %d: %s", classes, says)
			}
		})
	}
}

// A job waits for nobody while another one of its sequence lives, and for others from then on.
func TestSequencesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, err := fair.New(fair.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := statuspage.NewRecorder()
		p, err := live.New(release.New(inner), live.Options{Slots: 2, Observer: r})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := p.Submit(t.Context(), live.Job{Pool: "etl", Sequence: "account 7", Phases: []live.Phase{{Tasks: 1, Run: lasts(time.Hour)}}}); err != nil {
				t.Fatal(err)
			}
		}
		submit(t, p, "flood", "web", 9, lasts(10*time.Hour))
		h := statuspage.Handler(p, statuspage.WithRecorder(r))
		time.Sleep(50 * time.Minute)
		if pg := pageOf(t, h, ""); pg.Oldest != 0 || !strings.HasPrefix(pg.Says, "All is well") {
			t.Errorf("the first of 100 runs: the oldest waits %v s: %s", pg.Oldest, pg.Says)
		}
		if body := ask(h, "/job/9").Body.String(); !strings.Contains(body, `waits for the end of <a href="../job/1">job 1</a>, which comes before it in its sequence`) {
			t.Errorf("the page of another one:\n%s", body)
		}
		submit(t, p, "more", "web", 9, lasts(10*time.Hour))
		if err := p.ChangePool("etl", func(n *sojourn.Pool) { n.Paused = true }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		for _, x := range pageOf(t, h, "").Tenants {
			if x.Name == "etl" && x.Oldest != 1200 {
				t.Errorf("the second waits %v s, want 1,200", x.Oldest)
			}
		}
		leavesNothing(t, p, r)
	})
}

// leavesNothing ends all jobs of a pool, and looks at what is left of them.
func leavesNothing(t *testing.T, p *live.Pool, r *statuspage.Recorder) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_ = p.Close(ctx)
	if left := r.Left(); left != "" {
		t.Errorf("after the end of all jobs there are %s", left)
	}
}

// A job that may not start yet waits for nobody, and for others from then on.
func TestReleasedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, err := fair.New(fair.Options{})
		if err != nil {
			t.Fatal(err)
		}
		policy := release.New(inner)
		r := statuspage.NewRecorder()
		p, err := live.New(policy, live.Options{Slots: 1, Observer: r})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := p.Submit(t.Context(), live.Job{Pool: "etl", Release: time.Hour, Deadline: 90 * time.Minute, Phases: []live.Phase{{Tasks: 1, Run: lasts(time.Minute)}}}); err != nil {
				t.Fatal(err)
			}
		}
		submit(t, p, "flood", "web", 9, lasts(10*time.Hour))
		h := statuspage.Handler(p, statuspage.WithRecorder(r))
		time.Sleep(59 * time.Minute)
		if pg := pageOf(t, h, ""); pg.Oldest != 0 || pg.Late != 0 || !strings.HasPrefix(pg.Says, "All is well") {
			t.Errorf("before the time has come: the oldest waits %v s: %s", pg.Oldest, pg.Says)
		}
		time.Sleep(2 * time.Minute)
		if pg := pageOf(t, h, ""); pg.Oldest != 60 || pg.Late != 0 {
			t.Errorf("a minute after it has come: the oldest waits %v s, %d are late", pg.Oldest, pg.Late)
		}
		time.Sleep(time.Hour)
		if pg := pageOf(t, h, ""); pg.Late != 100 || !strings.HasPrefix(pg.Says, "etl waits 61 min: web holds 1 of 1 slots") {
			t.Errorf("after the deadline %d are late: %s", pg.Late, pg.Says)
		}
		leavesNothing(t, p, r)
	})
}

// What was refused before anything of it ran has not failed; what had no time left has.
func TestRefusedHaveNotFailed(t *testing.T) {
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, _ *statuspage.Recorder, h http.Handler) {
		submit(t, p, "long", "web", 1, lasts(10*time.Minute))
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { _, _ = p.Enter(ctx, live.Job{Name: "request", Pool: "etl"}) }()
		if _, err := p.Submit(t.Context(), live.Job{Name: "in time", Pool: "research", Timeout: time.Minute, Phases: []live.Phase{{Tasks: 1, Run: lasts(time.Second)}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		cancel(errors.New("too many wait"))
		time.Sleep(2 * time.Minute)
		failed := map[string]int{}
		for _, x := range pageOf(t, h, "").Tenants {
			failed[x.Name] = 10*x.Ended + x.Failed
		}
		if failed["etl"] != 10 || failed["research"] != 11 {
			t.Errorf("ended and failed are %v, want 10 of etl and 11 of research", failed)
		}
		if body := ask(h, "/?state=ended&pool=etl").Body.String(); !strings.Contains(body, "too many wait") {
			t.Errorf("the list does not say why:\n%s", body)
		}
	})
}

// Nobody takes the name of another tenant by characters that are not seen.
func TestNamesThatLookAlike(t *testing.T) {
	pooled(t, 9, nil, func(t *testing.T, p *live.Pool, _ *statuspage.Recorder, h http.Handler) {
		long := strings.Repeat("a", 1000)
		for _, name := range []string{"web", "web\u200b", "w\u202eeb", "", "(no tenant)", long + "1", long + "2"} {
			submit(t, p, "j", name, 1, lasts(time.Minute))
		}
		time.Sleep(time.Second)
		body := ask(h, "/").Body.String()
		names := map[string]bool{}
		for _, m := range regexp.MustCompile(`#jobs">([^<]*)</a>`).FindAllStringSubmatch(body, -1) {
			if strings.HasPrefix(m[1], "web") || strings.HasPrefix(m[1], "(no") || strings.HasPrefix(m[1], "aaa") {
				names[m[1]] = true
			}
		}
		if len(names) != 7 {
			t.Errorf("7 tenants are called %v", names)
		}
	})
}

// A job whose release time and sequence the policy does not know, and which loses them, waits for a slot from its submission on.
func TestDroppedReleaseAndSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := statuspage.NewRecorder()
		p, err := live.New(policy, live.Options{Slots: 1, Observer: r, Drop: sojourn.FeatureRelease | sojourn.FeatureSequence})
		if err != nil {
			t.Fatal(err)
		}
		h := statuspage.Handler(p, statuspage.WithRecorder(r))
		for _, release := range []time.Duration{0, 10 * time.Hour} {
			job := live.Job{Pool: "etl", Sequence: "a", Release: release, Phases: []live.Phase{{Tasks: 1, Run: lasts(time.Hour)}}}
			if _, err := p.Submit(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * time.Minute)
		if pg := pageOf(t, h, "?state=waiting"); pg.Found != 1 || pg.Oldest != 1800 || strings.HasPrefix(pg.Says, "All is well") {
			t.Errorf("%d jobs wait, the oldest for %v s: %s", pg.Found, pg.Oldest, pg.Says)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The sentence says what is wrong, since when, and what would help, where nobody floods.
func TestSentencesOfTroubles(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, p *live.Pool)
		want string // after ten minutes
	}{
		{"paused and forgotten", func(t *testing.T, p *live.Pool) {
			for _, name := range []string{"etl", "research"} {
				if err := p.ChangePool(name, func(n *sojourn.Pool) { n.Paused = true }); err != nil {
					t.Fatal(err)
				}
			}
			submit(t, p, "nightly", "etl", 8, lasts(time.Hour))
			time.Sleep(time.Minute)
			submit(t, p, "eval", "research", 8, lasts(time.Hour))
		}, "etl is paused, and 8 tasks of it wait, the oldest for 11 min. To resume it would help. research is paused, too. 0 of 4 slots are busy, and no job waits for others."},
		{"no slots are left", func(t *testing.T, p *live.Pool) {
			submit(t, p, "nightly", "etl", 8, lasts(time.Hour))
			time.Sleep(time.Minute)
			for _, s := range p.Status().Slots {
				if err := p.Remove(s.Slot.ID); err != nil {
					t.Fatal(err)
				}
			}
		}, "There are no slots, so nothing runs since 00:01:10, and 8 tasks wait: the program must add some."},
		{"all flood", func(t *testing.T, p *live.Pool) {
			submit(t, p, "first", "e", 4, lasts(time.Second))
			for _, name := range []string{"a", "b", "c", "d"} {
				submit(t, p, "mail", name, 100, lasts(time.Hour))
			}
			for _, name := range []string{"a", "b", "c", "d"} { // of which nothing runs
				submit(t, p, "more", name, 100, lasts(time.Hour))
			}
		}, "a waits 10 min, and so do 3 other tenants: all 4 slots are busy, and nobody has more than 1. More slots would help, or fewer tasks. What if there were 1 slot more?"},
		{"many tenants", func(t *testing.T, p *live.Pool) {
			for i := range 1500 {
				submit(t, p, "", fmt.Sprint("customer-", i), 2, lasts(time.Hour))
			}
			if err := p.SetSlots(9, sojourn.Slot{}); err != nil {
				t.Fatal(err)
			}
		}, "customer-7 waits 10 min, and so do more than 993 other tenants: all 9 slots are busy, and nobody has more than 2. More slots would help, or fewer tasks. What if there were 1 slot more?"},
		{"all have failed", func(t *testing.T, p *live.Pool) {
			for i := range 6 {
				submit(t, p, "load", "etl", 1, func(context.Context, live.Task) error {
					time.Sleep(time.Duration(i) * time.Second)
					return errors.New("connection refused\nat line 7")
				})
			}
			submit(t, p, "page", "web", 1, lasts(time.Hour))
		}, "1 of 4 slots are busy, and no job waits for others. 6 jobs have failed in the last hour, the last at 00:03:17: live: task 6/0/0 failed, attempt 3: connection refused."},
		{"everything fails", func(t *testing.T, p *live.Pool) {
			for i := range 6 {
				_, err := p.Submit(t.Context(), live.Job{Pool: "etl", Retry: &live.Retry{Attempts: 3, Backoff: time.Hour, MaxBackoff: time.Hour}, Phases: []live.Phase{{Tasks: 1, Run: func(context.Context, live.Task) error {
					time.Sleep(time.Duration(i) * time.Second)
					return errors.New("connection refused\nat line 7")
				}}}})
				if err != nil {
					t.Fatal(err)
				}
			}
			submit(t, p, "page", "web", 1, lasts(time.Hour))
		}, "6 jobs of etl have tasks that failed, the last at 00:00:07: connection refused. 1 of 4 slots are busy, and no job waits for others."},
		{"it fits nowhere", func(t *testing.T, p *live.Pool) {
			time.Sleep(time.Minute)
			if _, err := p.Submit(t.Context(), live.Job{Pool: "research", Phases: []live.Phase{{Tasks: 4, Class: 64, Run: lasts(time.Hour)}}}); err != nil {
				t.Fatal(err)
			}
			submit(t, p, "page", "web", 1, lasts(time.Hour))
		}, "Job 1 cannot go on: live: no slots of a class that the job needs: class 64. Nothing of it has run since 00:01:00. 1 of 4 slots are busy, and no job waits for others."},
	} {
		t.Run(c.name, func(t *testing.T) {
			pooled(t, 4, nil, func(t *testing.T, p *live.Pool, _ *statuspage.Recorder, h http.Handler) {
				c.do(t, p)
				time.Sleep(10 * time.Minute)
				if got := strings.TrimSpace(pageOf(t, h, "").Says); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		})
	}
}

// Names in charts are shortened in the middle, and fit whatever their letters are.
func TestNarrow(t *testing.T) {
	for name, want := range map[string]string{"web": "web", "eleven char": "eleven char", "customer-0007": "custo…-0007", strings.Repeat("W", 300): "WWW…WW", "\u0421\u0431\u043e\u0440\u043a\u0430 \u0434\u043e\u043a\u0443\u043c": "\u0421\u0431\u043e\u0440…\u043a\u0443\u043c"} {
		if got := statuspage.Narrow(name); got != want {
			t.Errorf("%.20s is %s, want %s", name, got, want)
		}
	}
}
