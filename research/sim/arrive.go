package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// The arrivals of a run have the unread part of the workload, and turn its jobs into
// jobs of the books.
type arrivals struct {
	books
	pull    func() (*Job, error, bool)
	next    *Job            // the job that arrives next, nil if there is none
	size    int             // how many tasks it has in the workload
	order   int             // jobs that were read from the workload
	benches []bench         // scratch, by class
	arrived []time.Duration // scratch, by phase
}

// read takes the next job from the workload.
func (a *arrivals) read() error {
	last := a.next
	j, err, ok := a.pull()
	a.next = nil
	switch {
	case !ok:
		return nil
	case err != nil:
		return err
	case j == nil:
		return fmt.Errorf("sim: job %d of the workload is nil", a.order+1)
	case j.At < 0 || last != nil && j.At < last.At:
		return fmt.Errorf("sim: job %d arrives at %v, before the job before it", j.ID, j.At)
	}
	if last == nil {
		a.tally.first = j.At
	}
	a.size = j.Tasks()
	if a.gangs != nil {
		if j, err = a.gangs.rigid(j); err != nil {
			return fmt.Errorf("sim: job %d of the workload: %w", a.order+1, err)
		}
	}
	a.next = j
	return nil
}

// arrive reports the job that is due, and reads the next one.
func (a *arrivals) arrive() error {
	j, err := a.newJob(a.next)
	if err != nil {
		return fmt.Errorf("sim: job %d: %w", a.next.ID, err)
	}
	a.order++
	a.res.Jobs++
	a.res.Tasks += a.size
	if a.cfg.Records {
		a.res.JobRecords = append(a.res.JobRecords, JobRecord{})
	}
	if j.told.Deadline > 0 {
		a.res.Deadlines++
	}
	err = j.told.Features().Check(a.supports)
	if err == nil {
		err = a.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j.told})
	}
	if err == nil {
		a.admit(j)
	} else if errors.Is(err, sojourn.ErrRejected) {
		a.reject(j)
	} else if errors.Is(err, sojourn.ErrUnsupported) {
		a.res.Unsupported++
		j.record.Outcome = Unsupported
		a.close(j)
	} else {
		return &PolicyError{a.now, fmt.Sprintf("refused job %d", j.ID), err}
	}
	return a.read()
}

// admit adds a job that the policy accepted.
func (a *arrivals) admit(j *job) {
	if j.told.Deadline > 0 {
		a.res.Accepted++
	}
	a.jobs[j.ID] = j
	if j.told.Open {
		a.expect(j, j.grows)
	}
	a.await(j)
}

// newJob makes the state of a job, after checking it.
func (a *arrivals) newJob(in *Job) (*job, error) {
	told, err := a.describe(in)
	if err != nil {
		return nil, err
	}
	if a.jobs[in.ID] != nil {
		return nil, errors.New("an earlier job of that ID has not ended")
	}
	j := &job{Job: in, told: told, whole: told, order: a.order, phases: make([]phase, len(told.Phases)), readers: in.listReaders()}
	for p := range j.phases {
		ph, spec := &j.phases[p], &told.Phases[p]
		ph.first, ph.tasks, ph.known, ph.class, ph.delays = j.left, spec.Tasks, spec.Tasks, spec.Class, spec.Delays != nil
		for range in.inputs(p) {
			ph.missing++
		}
		ph.unmet = ph.missing // thresholds are above 0
		j.left += spec.Tasks
	}
	j.tasks = make([]task, j.left)
	if a.cfg.Faults.LoseOutput {
		j.homes = make([]sojourn.NodeID, j.left)
	}
	weight := told.Weight
	if weight == 0 {
		weight = 1
	}
	j.record = JobRecord{
		ID: told.ID, Name: told.Name, Pool: told.Pool, Weight: weight, Tasks: a.size,
		Arrival: in.At, Deadline: told.Deadline, Alone: a.alone(j),
	}
	if told.Open {
		j.grows = j.grow(in.At)
	}
	if held := told.Release.Sub(in.At); held > 0 && j.record.Alone > 0 {
		j.record.Alone = later(held, j.record.Alone)
	}
	return j, nil
}

// describe returns the description of a job for the policy: in itself, or a copy
// with the classes and estimates that the configuration adds.
func (a *arrivals) describe(in *Job) (*sojourn.Job, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	if in.Features()&sojourn.FeatureHeld != 0 {
		return nil, fmt.Errorf("no tasks are held in a simulation: %w: %v", sojourn.ErrUnsupported, sojourn.FeatureHeld)
	}
	if len(in.Times) != len(in.Phases) {
		return nil, fmt.Errorf("times of %d phases for %d phases", len(in.Times), len(in.Phases))
	}
	if in.AnyClass != nil && len(in.AnyClass) != len(in.Phases) {
		return nil, fmt.Errorf("classes of %d phases for %d phases", len(in.AnyClass), len(in.Phases))
	}
	factor := 1.0
	switch a.cfg.Estimates.Mode {
	case LogNormal:
		z := detmath.Normal(a.stream(estimateErrors, uint64(in.ID)))
		factor = detmath.Exp(float64(a.cfg.Estimates.Sigma * z))
	case Scaled:
		factor = a.cfg.Estimates.Factor
	}
	told := &in.Job
	for p := range in.Phases {
		was := &in.Phases[p]
		is := *was
		is.Class = 0
		if !a.cfg.Cluster.Uniform || a.gangs != nil {
			is.Class = in.ClassOf(p)
		}
		if err := in.Times[p].check(is.Tasks); err != nil {
			return nil, fmt.Errorf("phase %d: %w", p, err)
		}
		estimate := a.cfg.Estimates.Mode != None && was.Estimate == 0 && was.Estimates == nil
		if estimate {
			is.Estimate, is.Estimates = in.Times[p].estimates(is.Tasks, factor)
		}
		if is.Class == was.Class && !estimate {
			continue
		}
		if told == &in.Job {
			c := in.Job
			c.Phases = append([]sojourn.Phase(nil), in.Phases...)
			told = &c
		}
		told.Phases[p] = is
	}
	return told, nil
}

// check returns what is wrong with the times of n tasks.
func (t Times) check(n int) error {
	if t.Costs != nil && len(t.Costs) != n {
		return fmt.Errorf("%d costs for %d tasks", len(t.Costs), n)
	}
	if t.List == nil {
		if t.Each < 0 {
			return fmt.Errorf("negative time %v", t.Each)
		}
		if t.Each > math.MaxInt64/time.Duration(n) {
			return fmt.Errorf("%d tasks of %v each are out of range", n, t.Each)
		}
		return nil
	}
	if len(t.List) != n {
		return fmt.Errorf("%d times for %d tasks", len(t.List), n)
	}
	var sum time.Duration
	for i, d := range t.List {
		if d < 0 {
			return fmt.Errorf("task %d: negative time %v", i, d)
		}
		if sum += d; sum < 0 {
			return errors.New("the sum of the times is out of range")
		}
	}
	return nil
}

// estimates returns estimates of n tasks that are off by a factor. They are at
// least 1 ns, since 0 means unknown, and at most an n-th of the range of a
// time.Duration.
func (t Times) estimates(n int, factor float64) (each time.Duration, list []time.Duration) {
	if t.List == nil {
		return estimate(t.Each, n, factor), nil
	}
	if factor == 1 && !slices.Contains(t.List, 0) {
		return 0, t.List
	}
	list = make([]time.Duration, n)
	for i, d := range t.List {
		list[i] = estimate(d, n, factor)
	}
	return 0, list
}

func estimate(d time.Duration, n int, factor float64) time.Duration {
	x, ok := stretch(d, factor, 1)
	if !ok {
		x = math.MaxInt64
	}
	return min(max(x, 1), math.MaxInt64/time.Duration(n))
}

// reject records that the policy declined a job.
func (a *arrivals) reject(j *job) {
	if a.admitter == nil {
		a.closeRejected(j)
		return
	}
	a.rejected = append(a.rejected, j)
}

// retest offers the rejected jobs again, in the order of their arrival.
func (a *arrivals) retest() error {
	var failed error
	a.rejected = slices.DeleteFunc(a.rejected, func(j *job) bool {
		switch {
		case failed != nil:
			return false
		case j.told.Deadline > 0 && j.told.Deadline <= a.now:
			a.closeRejected(j)
			return true
		case a.admitter.Admit(j.told) != nil:
			return false
		}
		if failed = a.tell(sojourn.Event{Kind: sojourn.JobArrived, Job: j.told}); failed != nil {
			return false
		}
		a.res.Retested++
		a.admit(j)
		return true
	})
	return failed
}
