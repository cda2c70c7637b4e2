package statuspage_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/kit/priority"
	"github.com/sojourn-sched/sojourn/kit/release"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// In each of these worlds the sentence says who waits because of whom, or for what, and what would help.
func TestSentencesOfWorlds(t *testing.T) {
	type submitter func(tenant string, tasks int, each time.Duration, more ...func(*live.Job))
	shared := func() sojourn.Policy { return policyOf(fair.New(fair.Options{})) }
	least := func() sojourn.Policy { return policyOf(leastwork.New(leastwork.Options{})) }
	for _, w := range []struct {
		name   string
		policy func() sojourn.Policy
		slots  int
		want   string
		do     func(p *live.Pool, job submitter)
	}{
		{"leaving", shared, 2, `^All 2 slots are leaving, so nothing starts any more, and 99 tasks wait: the program must add some\.$`, func(p *live.Pool, job submitter) {
			job("web", 100, 10*time.Hour)
			time.Sleep(20 * time.Minute)
			for id := range sojourn.SlotID(2) {
				if err := p.Drain(id); err != nil {
					t.Error(err)
				}
			}
			job("etl", 1, time.Minute)
			time.Sleep(20 * time.Minute)
		}},
		{"oneslot", least, 1, `^etl waits 20 min: web holds 1 of 1 slots since .*\. What would help: the end of what web runs, or more slots\.`, func(p *live.Pool, job submitter) {
			job("web", 1, 10*time.Hour)
			time.Sleep(time.Minute)
			job("etl", 1, time.Minute)
			time.Sleep(20 * time.Minute)
		}},
		{"priority", func() sojourn.Policy {
			return policyOf(priority.New(shared, priority.Options{}))
		}, 8, `^etl waits 40 min: web holds 8 of 8 slots, by its priority of 10, since .* What would help: a lower priority for jobs of web, or more slots\.`, func(p *live.Pool, job submitter) {
			job("web", 500, 10*time.Minute, func(j *live.Job) { j.Priority = 10 })
			time.Sleep(time.Minute)
			job("etl", 10, time.Minute)
			time.Sleep(40 * time.Minute)
		}},
		{"release", func() sojourn.Policy { return release.New(shared()) }, 8, `^All is well: 100 tasks wait until .*, when the next job may start: 0 of 8 slots are busy, and no job waits for others\.$`, func(p *live.Pool, job submitter) {
			for range 20 {
				job("web", 5, 10*time.Minute, func(j *live.Job) { j.Release = 2 * time.Hour })
			}
			time.Sleep(40 * time.Minute)
		}},
		{"nopools", least, 8, `^The oldest job waits 40 min: all 8 slots are busy, and 1,4\d\d tasks wait\. More slots would help, or fewer tasks\.`, func(p *live.Pool, job submitter) {
			for i := range 300 {
				job("", 5, time.Duration(1+i%20)*time.Minute)
			}
			time.Sleep(40 * time.Minute)
		}},
		{"slowtasks", shared, 8, `^newcomer waits 40 min: all 8 slots are busy, and nobody has more than 1\. More slots would help, or fewer tasks\.`, func(p *live.Pool, job submitter) {
			for i := range 8 {
				job(fmt.Sprint("team-", i), 1, 100*time.Hour)
			}
			time.Sleep(30 * time.Hour)
			job("newcomer", 4, time.Hour)
			time.Sleep(40 * time.Minute)
		}},
		{"failing", shared, 8, `^30 jobs of web have tasks that failed, the last at .*: dial tcp db:5432: connection refused\. 3 of 8 slots are busy`, func(p *live.Pool, job submitter) {
			for range 30 {
				job("web", 3, time.Second, func(j *live.Job) {
					j.Retry = &live.Retry{Attempts: 100, Backoff: time.Minute, MaxBackoff: 10 * time.Minute}
					j.Phases[0].Run = func(context.Context, live.Task) error { return errors.New("dial tcp db:5432: connection refused") }
				})
			}
			time.Sleep(2 * time.Minute)
			job("etl", 3, time.Hour)
			time.Sleep(40 * time.Minute)
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := statuspage.NewRecorder()
			p, err := live.New(w.policy(), live.Options{Slots: w.slots, Observer: r})
			if err != nil {
				t.Fatal(err)
			}
			w.do(p, func(tenant string, tasks int, each time.Duration, more ...func(*live.Job)) {
				j := live.Job{Pool: tenant, Phases: []live.Phase{{Tasks: tasks, Run: lasts(each)}}}
				for _, m := range more {
					m(&j)
				}
				if _, err := p.Submit(t.Context(), j); err != nil {
					t.Fatal(err)
				}
			})
			if says := pageOf(t, statuspage.Handler(p, statuspage.WithRecorder(r)), "").Says; !regexp.MustCompile(w.want).MatchString(says) {
				t.Errorf("%s: %s; want %s", w.name, says, w.want)
			}
			ctx, stop := context.WithCancel(t.Context())
			stop()
			_ = p.Close(ctx)
		})
	}
}

func policyOf[P sojourn.Policy](p P, err error) sojourn.Policy {
	if err != nil {
		panic(err)
	}
	return p
}
