package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars"
)

// online makes the schedule that a [mars.Policy] makes of the instance, event by event. The
// policy learns of a job when the job is released. The error wraps errors.ErrUnsupported if
// events cannot describe the instance, or if its objective differs from the policy's.
func (w *workshop) online(opts mars.Options) (layout, error) {
	if err := w.forJobs(soMarS); err != nil {
		return layout{}, err
	}
	if len(w.machines) > sojourn.MaxClasses || w.base[len(w.machines)] > sojourn.MaxSlots {
		return layout{}, fmt.Errorf("%w: planner %v: more machines than slots", errors.ErrUnsupported, soMarS)
	}
	opts.Step = cmp.Or(opts.Step, math.MaxInt) // nobody waits for a Tick
	p, err := mars.New(opts)
	if err != nil {
		return layout{}, err
	}
	d := &onlineDriver{placer: newPlacer(w.flat), policy: p, out: w.newLayout(), running: make([]sojourn.Assignment, w.base[len(w.machines)])}
	d.reset()
	return d.out, d.run()
}

// An onlineDriver drives a policy through an instance.
type onlineDriver struct {
	*placer
	policy  *mars.Policy
	out     layout
	now     int64
	running []sojourn.Assignment // of each machine
	ends    keys                 // the ends of running tasks, by machine
	opens   keys                 // units whose input has a delay, by the time when all of it has arrived
}

func (d *onlineDriver) observe(ev sojourn.Event) error {
	ev.At = sojourn.Time(d.now)
	if err := d.policy.Observe(ev); err != nil {
		return fmt.Errorf("%w: planner %v: %w", errors.ErrUnsupported, soMarS, err)
	}
	return nil
}

func (d *onlineDriver) run() error {
	for k := range d.machines {
		for m := d.base[k]; m < d.base[k+1]; m++ {
			if err := d.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(m), Class: sojourn.Class(k)}}); err != nil {
				return err
			}
		}
	}
	var releases keys
	for j := range d.in.Jobs {
		releases = append(releases, key{int64(d.in.Jobs[j].Release), int32(j)})
	}
	slices.SortFunc(releases, key.compare)
	for {
		next := int64(math.MaxInt64)
		for _, list := range []keys{releases, d.ends, d.opens} {
			if len(list) > 0 {
				next = min(next, list[0].at)
			}
		}
		if at, ok := d.policy.NextWake(); ok {
			next = min(next, int64(at))
		}
		if next == math.MaxInt64 {
			return nil
		}
		d.now = max(d.now, next)
		for len(d.ends) > 0 && d.ends[0].at == d.now {
			a := d.running[d.ends.pop().id]
			if err := d.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}); err != nil {
				return err
			}
		}
		for len(d.opens) > 0 && d.opens[0].at == d.now {
			if err := d.each(d.opens.pop().id, sojourn.TaskReady); err != nil {
				return err
			}
		}
		for ; len(releases) > 0 && releases[0].at == d.now; releases = releases[1:] {
			if err := d.release(int(releases[0].id)); err != nil {
				return err
			}
		}
		d.offer()
		for at, ok := d.policy.NextWake(); ok && int64(at) <= d.now; at, ok = d.policy.NextWake() {
			if err := d.observe(sojourn.Event{Kind: sojourn.Tick}); err != nil {
				return err
			}
			d.offer()
		}
	}
}

// each reports an event of one kind for all tasks of a unit.
func (d *onlineDriver) each(i int32, kind sojourn.EventKind) error {
	u := &d.units[i]
	for t := range uint32(u.end - u.first) {
		ev := sojourn.Event{Kind: kind, Task: sojourn.TaskID{Job: sojourn.JobID(u.job + 1), Phase: uint16(u.phase), Index: t}}
		if err := d.observe(ev); err != nil {
			return err
		}
	}
	return nil
}

// release reports a job. Phases whose input takes time to arrive are held.
func (d *onlineDriver) release(j int) error {
	from := &d.in.Jobs[j]
	job := &sojourn.Job{ID: sojourn.JobID(j + 1), Weight: from.Weight}
	for k := range from.Phases {
		ph := &from.Phases[k]
		to := sojourn.Phase{Tasks: ph.Tasks, Class: ph.Class, Delays: ph.Delays}
		if k > 0 && ph.NoBarrier {
			to.After = sojourn.NoBarrier
		}
		for t := range ph.Tasks {
			to.Estimates = append(to.Estimates, max(ph.TimeOf(t), time.Nanosecond)) // 0 is unknown
		}
		job.Phases = append(job.Phases, to)
	}
	if err := d.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
		return err
	}
	for i := d.first[j] + 1; i < d.first[j+1]; i++ {
		if d.delayed(i) {
			if err := d.each(i, sojourn.TaskHeld); err != nil {
				return err
			}
		}
	}
	return nil
}

// delayed reports whether input of unit i takes time to arrive.
func (d *onlineDriver) delayed(i int32) bool {
	return d.units[i].waits && d.units[i-1].delays != nil
}

// offer offers free machines until the policy has nothing for them.
func (d *onlineDriver) offer() {
	for k := range d.machines {
		for {
			id, ok := d.policy.Seek(sojourn.Class(k))
			if !ok {
				break
			}
			a, ok := d.policy.Assign(id)
			if !ok {
				break
			}
			i := d.first[a.Task.Job-1] + int32(a.Task.Phase)
			t := d.units[i].first + int32(a.Task.Index)
			d.out.start[t], d.out.machine[t] = d.now, int32(id)
			d.running[id] = a
			d.ends.push(key{d.now + d.placer.p[t], int32(id)})
			if d.deliver(t, d.now+d.placer.p[t]) && d.delayed(i+1) {
				d.opens.push(key{d.ready[i+1], i + 1})
			}
		}
	}
}
