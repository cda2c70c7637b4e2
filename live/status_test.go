package live_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/live"
)

// An asked policy ranks jobs as it is told, and tells when it is asked for a promise, which a pool does once for each job of a Status.
type asked struct {
	*fifo.Policy
	order []sojourn.JobID
	void  func()
}

func (p *asked) AppendRanking(dst []sojourn.JobID) []sojourn.JobID { return append(dst, p.order...) }
func (p *asked) AppendVoid(dst []sojourn.JobID) []sojourn.JobID    { return dst }
func (p *asked) Void(sojourn.JobID) (why string, void bool)        { p.void(); return "", false }
func (p *asked) Unwrap() sojourn.Policy                            { return p.Policy }
func listed(st live.Status) (ids []sojourn.JobID) {
	for _, j := range st.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func waitingJob() live.Job {
	return live.Job{Phases: []live.Phase{{Tasks: 1, Class: 1, Run: sleep(ms)}}}
}

// An ender hears that jobs end, and of the one that waits for slots.
type ender struct {
	stuck int
	each  func()
}

func (e *ender) Note(n live.Note) {
	switch n.Kind {
	case live.JobStuck:
		e.stuck++
	case live.JobEnded:
		e.each()
	}
}

// A bystander calls a pool while something else is done with each of its jobs under the lock.
type bystander struct {
	pool   *live.Pool
	jobs   int
	looked int
	served atomic.Bool
	inTime bool // it was served before the last job
}

// look is called with each job.
func (b *bystander) look() {
	switch b.looked++; {
	case b.looked == 1:
		begun := make(chan struct{})
		go func() {
			close(begun)
			b.pool.Handle(1)
			b.served.Store(true)
		}()
		<-begun
	case b.looked == b.jobs:
		b.inTime = b.served.Load()
	}
	switch { // who waits for a lock for longer than 1 ms is the next to have it
	case b.served.Load() || b.looked%512 != 0:
	case b.looked == b.jobs-512:
		time.Sleep(5 * time.Second) // on a busy machine it may not even have asked
	default:
		time.Sleep(20 * ms)
	}
}

// While Suspend lets go of 4,096 jobs, and Close ends those whose slots are gone, somebody else's call is not held up until all are.
func TestEndHoldsNobodyUp(t *testing.T) {
	const jobs = 4096
	for what, end := range map[string]func(*live.Pool, context.Context) error{"Suspend": (*live.Pool).Suspend, "Close": (*live.Pool).Close} {
		e := new(ender)
		p := must(live.New(newFIFO(), live.Options{Observer: e}))
		for range jobs {
			must(p.Submit(bg, waitingJob()))
		}
		b := &bystander{pool: p, jobs: jobs}
		e.each = b.look
		if err := end(p, bg); err != nil || b.looked != jobs || !b.inTime || e.stuck != 1 {
			t.Errorf("%s: %v, %d jobs, %d told of before; somebody else was served meanwhile: %v", what, err, b.looked, e.stuck, b.inTime)
		}
	}
}

// manyJobs returns a pool that has so many jobs, under a policy. They need slots of a class of which there are none.
func manyJobs(t *testing.T, n int) (*asked, *live.Pool) {
	policy := &asked{Policy: must(fifo.New(fifo.Options{})), void: func() {}}
	p := must(live.New(policy, live.Options{}))
	for range n {
		must(p.Submit(bg, waitingJob()))
	}
	t.Cleanup(func() { _ = p.Suspend(bg) })
	return policy, p
}

// While Status looks at 4,096 jobs, somebody else's call is not held up until it has seen all.
func TestStatusHoldsNobodyUp(t *testing.T) {
	const jobs = 4096
	policy, p := manyJobs(t, jobs)
	b := &bystander{pool: p, jobs: jobs}
	policy.void = b.look
	if st := p.Status(); len(st.Jobs) != jobs || b.looked != jobs || !b.inTime {
		t.Errorf("%d jobs, %d looked at; somebody else was served meanwhile: %v", len(st.Jobs), b.looked, b.inTime)
	}
}

// Status lists up to 4,096 jobs in the order of the policy, then those that it leaves out, and more of them by ID.
func TestStatusOfManyJobs(t *testing.T) {
	policy, p := manyJobs(t, 4096)
	policy.order = []sojourn.JobID{4096, 1, 5000, 600}
	want := []sojourn.JobID{4096, 1, 600}
	for id := sojourn.JobID(2); id < 4096; id++ {
		if id != 600 {
			want = append(want, id)
		}
	}
	if got := listed(p.Status()); !slices.Equal(got, want) {
		t.Errorf("%d jobs: %d..., want %d...", len(got), got[:min(5, len(got))], want[:5])
	}
	h, _ := p.Handle(600)
	h.Cancel()
	var handles []sojourn.JobID
	for _, h := range p.Handles() {
		handles = append(handles, h.ID())
	}
	slices.Sort(want)
	if want = slices.DeleteFunc(want, func(id sojourn.JobID) bool { return id == 600 }); !slices.Equal(handles, want) {
		t.Errorf("%d handles: %d...", len(handles), handles[:min(5, len(handles))])
	}
	must(p.Submit(bg, waitingJob()))
	must(p.Submit(bg, waitingJob()))
	if got := listed(p.Status()); len(got) != 4097 || !slices.IsSorted(got) {
		t.Errorf("%d jobs: %d..., want 4,097 by ID", len(got), got[:min(5, len(got))])
	}
}
