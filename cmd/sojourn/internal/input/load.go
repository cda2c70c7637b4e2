package input

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A ScaledLoad says to which load a workload is brought, and how.
type ScaledLoad struct {
	Load   Load
	Scale  scaledWhat
	Varied bool // the load is given elsewhere
}

func (f *ScaledLoad) Check() error {
	if f.Scale != "" && f.Load == 0 && !f.Varied {
		return usage.Errorf("--scale says how --load is reached: give --load, too")
	}
	return nil
}

// String says what is done, "" for nothing.
func (f *ScaledLoad) String() string {
	if f.Load == 0 {
		return ""
	}
	return fmt.Sprintf("%s scaled to %s", f.Scale.What(), f.Load.String())
}

// Apply brings a workload to the load on a cluster, if one is given.
func (f *ScaledLoad) Apply(w *Workload, c *Cluster) error {
	if f.Load == 0 {
		return nil
	}
	now := w.Facts()
	scale, err := f.Scaling(&now.Meter, c, w.Name)
	if err != nil {
		return err
	}
	if err := w.change(scale); err != nil {
		return err
	}
	now = w.Facts()
	return now.Check(c, w.Name, float64(f.Load))
}

// A Load is a load, 0 unless given.
type Load float64

// String returns the load in the form that Set reads.
func (l *Load) String() string { return strconv.FormatFloat(float64(*l), 'g', -1, 64) }

// Set reads a load.
func (l *Load) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= math.MaxFloat64) {
		return errors.New("want a number above 0, such as 0.9")
	}
	*l = Load(v)
	return nil
}

// What --load scales.
const (
	ScaleArrivals  = "arrivals"
	ScaleDurations = "durations"
)

// A scaledWhat is one of these, "" unless given.
type scaledWhat string

func (s *scaledWhat) What() string {
	if *s == "" {
		return ScaleArrivals
	}
	return string(*s)
}

// String returns the value in the form that Set reads, "" unless given.
func (s *scaledWhat) String() string { return string(*s) }

// Set reads arrivals or durations.
func (s *scaledWhat) Set(text string) error {
	if text != ScaleArrivals && text != ScaleDurations {
		return errors.New("want arrivals or durations")
	}
	*s = scaledWhat(text)
	return nil
}

// Clone returns a copy whose jobs can be scaled while w stays as it is.
func (w *Workload) Clone() *Workload {
	c := *w
	c.Jobs = make([]*sim.Job, len(w.Jobs))
	for i, j := range w.Jobs {
		job := *j
		c.Jobs[i] = &job
	}
	return &c
}

// A Meter adds up what jobs ask of a cluster, one by one in the order of arrival.
type Meter struct {
	Jobs        int // of jobs
	first, last sojourn.Time

	// Work is in seconds: by class, on clusters that are not uniform, and in all.
	byClass []float64
	work    float64
}

func (m *Meter) Add(j *sim.Job) {
	if m.Jobs == 0 {
		m.first = j.At
	}
	m.Jobs++
	m.last = j.At
	for i := range j.Phases {
		sum := j.Times[i].Total(j.Phases[i].Tasks).Seconds()
		class := int(j.ClassOf(i))
		if more := class + 1 - len(m.byClass); more > 0 {
			m.byClass = append(m.byClass, make([]float64, more)...)
		}
		m.byClass[class] += sum
		m.work += sum
	}
}

// Span returns the time from the first arrival to the last.
func (m *Meter) Span() time.Duration { return m.last.Sub(m.first) }

// Load returns, for each class of the cluster or of jobs, the service time that
// arrives, divided by the service time that the cluster can give between the first
// arrival and the last. It is +Inf if all jobs arrive at once.
func (m *Meter) Load(c *Cluster) []float64 {
	work := m.byClass
	if c.Uniform {
		work = []float64{m.work}
	}
	load := make([]float64, max(len(c.Capacity()), len(work)))
	speed := make([]float64, len(load))
	for _, n := range c.Nodes {
		for class, slots := range n.Slots {
			s := n.Speed
			if s == 0 {
				s = 1
			}
			speed[class] += float64(s * float64(slots))
		}
	}
	for class, seconds := range work {
		if seconds > 0 {
			load[class] = seconds / float64(speed[class]*m.Span().Seconds())
		}
	}
	return load
}

// A LoadError says why a workload cannot have a load.
type LoadError struct{ error }

func loadErrorf(format string, args ...any) error { return LoadError{fmt.Errorf(format, args...)} }

// excess returns how many times the load of the busiest class is the given one. name is
// that of the workload.
func (m *Meter) excess(c *Cluster, name string, load float64) (float64, error) {
	if m.Jobs == 0 || m.first == m.last {
		return 0, loadErrorf("%s: all jobs arrive at once, so that it has no load that could be scaled", name)
	}
	switch busiest := slices.Max(m.Load(c)); {
	case math.IsInf(busiest, 0):
		return 0, loadErrorf("%s: the cluster has no slots of a class that jobs need", name)
	case busiest == 0:
		return 0, loadErrorf("%s: tasks take no time, so that it has no load that could be scaled", name)
	default:
		return busiest / load, nil
	}
}

// Check returns an error unless the load is what jobs were scaled to, within a hundredth.
// Times are whole nanoseconds, and very short ones may not do.
func (m *Meter) Check(c *Cluster, name string, load float64) error {
	if got := slices.Max(m.Load(c)); !(math.Abs(got/load-1) <= 0.01) {
		return loadErrorf("%s: a load of %v cannot be had, as times are whole nanoseconds: it would be %v", name, load, got)
	}
	return nil
}

// A Scaling changes a job so that the load becomes what is wanted.
type Scaling func(*sim.Job) error

// arrivals stretches or squeezes the time between the arrivals of the jobs that m has
// seen by one factor, so that the busiest class of slots has the given load. Deadlines
// and releases keep their distance from the arrival.
func (m *Meter) arrivals(c *Cluster, name string, load float64) (Scaling, error) {
	factor, err := m.excess(c, name, load)
	first := m.first
	return func(j *sim.Job) error {
		gap := math.Round(float64(j.At.Sub(first)) * factor)
		after := max(0, j.Deadline.Sub(j.At), j.Release.Sub(j.At))
		if !(gap < float64(math.MaxInt64-first-sojourn.Time(after))) {
			return loadErrorf("%s: at a load of %v, job %d arrives later than time can tell", name, load, j.ID)
		}
		at := first + sojourn.Time(gap)
		if j.Deadline > 0 {
			j.Deadline = at.Add(j.Deadline.Sub(j.At))
		}
		if j.Release > 0 {
			j.Release = at.Add(j.Release.Sub(j.At))
		}
		j.At = at
		return nil
	}, err
}

// durations multiplies service times and estimates by one factor, so that the busiest
// class of slots has the given load. Arrivals, deadlines, sizes in bytes and delays stay
// as they are.
func (m *Meter) durations(c *Cluster, name string, load float64) (Scaling, error) {
	factor, err := m.excess(c, name, load)
	factor = 1 / factor
	return func(j *sim.Job) error {
		phases := make([]sojourn.Phase, len(j.Phases))
		times := make([]sim.Times, len(j.Times))
		for i, p := range j.Phases {
			// A quarter of what a Duration holds leaves room for rounding.
			sum := max(j.Times[i].Total(p.Tasks), p.Work())
			if !(float64(sum)*factor < math.MaxInt64/4) {
				return loadErrorf("%s: at a load of %v, job %d takes longer than time can tell", name, load, j.ID)
			}
			p.Estimate, p.Estimates = multiplied(p.Estimate, factor), multipliedAll(p.Estimates, factor)
			phases[i] = p
			times[i] = j.Times[i]
			times[i].Each, times[i].List = multiplied(times[i].Each, factor), multipliedAll(times[i].List, factor)
		}
		j.Phases, j.Times = phases, times
		return nil
	}, err
}

// Scaling returns what brings the jobs that m has seen to the load that is given.
func (f *ScaledLoad) Scaling(m *Meter, c *Cluster, name string) (Scaling, error) {
	if f.Scale.What() == ScaleDurations {
		return m.durations(c, name, float64(f.Load))
	}
	return m.arrivals(c, name, float64(f.Load))
}

// multiplied returns a time multiplied by a factor, in whole nanoseconds and at
// least 1, but 0 for 0: an estimate of 0 means that there is none.
func multiplied(d time.Duration, factor float64) time.Duration {
	if d == 0 {
		return 0
	}
	return max(1, time.Duration(math.Round(float64(d)*factor)))
}

// multipliedAll does the same to a list. It returns nil for nil.
func multipliedAll(list []time.Duration, factor float64) []time.Duration {
	if list == nil {
		return nil
	}
	scaled := make([]time.Duration, len(list))
	for i, d := range list {
		scaled[i] = multiplied(d, factor)
	}
	return scaled
}

// ClassOf returns the class of slot that the i-th phase of a job takes.
func ClassOf(uniform bool, j *sim.Job, i int) sojourn.Class {
	if uniform {
		return 0
	}
	return j.ClassOf(i)
}
