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

// read takes the next job from the workload.
func (e *engine) read() error {
	last := e.next
	j, err, ok := e.pull()
	e.next = nil
	switch {
	case !ok:
		return nil
	case err != nil:
		return err
	case j == nil:
		return fmt.Errorf("sim: job %d of the workload is nil", e.order+1)
	case j.At < 0 || last != nil && j.At < last.At:
		return fmt.Errorf("sim: job %d arrives at %v, before the job before it", j.ID, j.At)
	}
	if last == nil {
		e.tally.first = j.At
	}
	e.next = j
	return nil
}

// arrive reports the job that is due, and reads the next one.
func (e *engine) arrive() error {
	j, err := e.newJob(e.next)
	if err != nil {
		return fmt.Errorf("sim: job %d: %w", e.next.ID, err)
	}
	e.order++
	e.res.Jobs++
	e.res.Tasks += len(j.tasks)
	if e.cfg.Records {
		e.res.JobRecords = append(e.res.JobRecords, JobRecord{})
	}
	if j.told.Deadline > 0 {
		e.res.Deadlines++
	}
	if err := e.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j.told}); err == nil {
		e.admit(j)
	} else if errors.Is(err, sojourn.ErrRejected) {
		e.reject(j)
	} else if errors.Is(err, sojourn.ErrUnsupported) {
		e.res.Unsupported++
		j.record.Outcome = Unsupported
		e.close(j)
	} else {
		return &PolicyError{e.now, fmt.Sprintf("refused job %d", j.ID), err}
	}
	return e.read()
}

// admit takes in a job that the policy accepted.
func (e *engine) admit(j *job) {
	if j.told.Deadline > 0 {
		e.res.Accepted++
	}
	e.jobs[j.ID] = j
	if e.audit != nil {
		e.audit.jobArrived(j)
	}
	for p := range j.phases {
		j.phases[p].pending = j.Phases[p].Tasks
		e.tally.pending(j, p)
		if j.Threshold(p) == 0 {
			e.phaseReady(j, p)
		}
	}
}

// newJob makes the state of a job, after checking it.
func (e *engine) newJob(in *Job) (*job, error) {
	told, err := e.describe(in)
	if err != nil {
		return nil, err
	}
	if e.jobs[in.ID] != nil {
		return nil, errors.New("an earlier job of that ID has not ended")
	}
	j := &job{Job: in, told: told, order: e.order, phases: make([]phase, len(told.Phases))}
	for p := range j.phases {
		j.phases[p].first = j.left
		j.left += told.Phases[p].Tasks
	}
	j.tasks = make([]task, j.left)
	if e.cfg.Faults.LoseOutput {
		j.homes = make([]sojourn.NodeID, j.left)
	}
	weight := told.Weight
	if weight == 0 {
		weight = 1
	}
	j.record = JobRecord{
		ID: told.ID, Name: told.Name, Pool: told.Pool, Weight: weight, Tasks: j.left,
		Arrival: in.At, Deadline: told.Deadline, Alone: e.alone(j),
	}
	return j, nil
}

// describe returns what the policy is told of a job: in itself, or a copy with
// the classes and estimates that the configuration adds.
func (e *engine) describe(in *Job) (*sojourn.Job, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	if len(in.Times) != len(in.Phases) {
		return nil, fmt.Errorf("times of %d phases for %d phases", len(in.Times), len(in.Phases))
	}
	if in.AnyClass != nil && len(in.AnyClass) != len(in.Phases) {
		return nil, fmt.Errorf("classes of %d phases for %d phases", len(in.AnyClass), len(in.Phases))
	}
	factor := 1.0
	if e.cfg.Estimates.Mode == LogNormal {
		z := detmath.Normal(e.stream(estimateErrors, uint64(in.ID)))
		factor = detmath.Exp(float64(e.cfg.Estimates.Sigma * z))
	}
	told := &in.Job
	for p := range in.Phases {
		was := &in.Phases[p]
		is := *was
		is.Class = 0
		if !e.cfg.Cluster.Uniform {
			is.Class = in.ClassOf(p)
		}
		if err := in.Times[p].check(is.Tasks); err != nil {
			return nil, fmt.Errorf("phase %d: %w", p, err)
		}
		estimate := e.cfg.Estimates.Mode != None && was.Estimate == 0 && was.Estimates == nil
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

// jobFinished records that the last task of a job has finished.
func (e *engine) jobFinished(j *job) {
	delete(e.jobs, j.ID)
	e.last = nil
	e.res.Finished++
	j.record.Outcome, j.record.Finish = Finished, e.now
	if j.record.Deadline > 0 && e.now <= j.record.Deadline {
		e.res.Met++
		e.res.MetTime += j.held.Seconds()
	}
	e.tally.finished(&j.record, e.cfg.Records || e.cfg.Quantiles)
	if e.audit != nil {
		e.audit.jobFinished(j)
		return
	}
	e.close(j)
}

// conclude ends what is left when nothing happens any more.
func (e *engine) conclude() {
	if e.audit != nil {
		e.audit.drain()
	}
	for _, j := range e.rejected {
		e.closeRejected(j)
	}
	for _, j := range e.liveJobs() {
		e.res.Unfinished++
		j.record.Outcome = Failed
		e.close(j)
	}
}

// close gives out the record of a job. Nothing of it changes any more.
func (e *engine) close(j *job) {
	if e.cfg.Records {
		e.res.JobRecords[j.order] = j.record
	}
	if e.cfg.Hooks.Job != nil {
		e.cfg.Hooks.Job(&j.record)
	}
}
