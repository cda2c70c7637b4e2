// Command curves measures what a decision costs under each policy while the number of jobs, slots,
// pools, tasks of a job or phases of a job grows, and writes a table, which cmd/sojourn/sojourn-plot draws.
//
//	go run ./curves -o curves                       all policies: curves/curves.csv
//	go run ./curves -only fair -axes jobs,pools     one policy, two numbers
//
// A decision is one finish, the start that follows and, when it was the last task of a job, the arrival
// of another job: the number of live jobs stays the same. Unless it is the number that grows, there are
// 1,000 live jobs with 100 tasks in one phase, 100 slots and one pool; 10,000 jobs where pools grow, and
// 20 times as many tasks as slots where slots grow. A job of several phases has 4 tasks in each.
// Weights are 1 to 8, estimates 1 to 100 s. Virtual time passes by 1 us a decision, so that the
// plans of mars, at least one second apart, are not in the numbers. Time is that of the processor, with
// the garbage collector's.
package main

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

var policies = []struct {
	name string
	make func() (sojourn.Policy, error)
}{
	{"fifo", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }},
	{"leastwork", func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }},
	{"fair", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }},
	{"hfsp", func() (sojourn.Policy, error) { return hfsp.New(hfsp.Options{}) }},
	{"pfsp", func() (sojourn.Policy, error) { return pfsp.New(pfsp.Options{}) }},
	{"fsp", func() (sojourn.Policy, error) { return baseline.NewFSP(baseline.FSPOptions{}) }},
	{"srpt", func() (sojourn.Policy, error) { return baseline.NewSRPT(baseline.SRPTOptions{}) }},
	{"las", func() (sojourn.Policy, error) { return baseline.NewLAS(baseline.LASOptions{}) }},
	{"td", func() (sojourn.Policy, error) { return td.New(td.Options{}) }},
	{"rtmr", func() (sojourn.Policy, error) { return rtmr.New(rtmr.Options{}) }},
	{"mars", func() (sojourn.Policy, error) { return mars.New(mars.Options{}) }},
}

// A size is what a policy has to deal with. Tasks are those of a phase.
type size struct{ jobs, slots, pools, tasks, phases int }

// An axis is a number that grows while the others stay.
type axis struct {
	name   string
	values []int
	at     func(v int) size
}

var axes = []axis{
	{"jobs", []int{1e3, 1e4, 1e5, 1e6}, func(v int) size { return size{v, 100, 1, 100, 1} }},
	{"slots", []int{1e2, 1e3, 1e4, 1e5, 1e6}, func(v int) size { return size{1000, v, 1, max(100, v/50), 1} }},
	{"pools", []int{1, 10, 100, 1e3, 1e4}, func(v int) size { return size{10_000, 100, v, 100, 1} }},
	{"tasks", []int{1, 10, 100, 1e3, 1e4, 1e5, 1e6}, func(v int) size { return size{1000, 100, 1, v, 1} }},
	{"phases", []int{1, 10, 100, 1e3}, func(v int) size { return size{1000, 100, 1, 4, v} }},
}

// A row is one measurement.
type row struct {
	policy, axis    string
	value           int
	ns, allocs      float64 // of a decision
	bytesJob        float64 // of a live job with its tasks
	decisions, idle int     // idle slots at the end
}

func main() {
	folder := flag.String("o", ".", "`FOLDER` of the table")
	only := flag.String("only", "", "policies, with commas between; all if empty")
	which := flag.String("axes", "", "numbers that grow, with commas between; all if empty")
	most := flag.Int("most", 1e6, "greatest number to measure")
	span := flag.Duration("time", 200*time.Millisecond, "processor time of a measurement")
	limit := flag.Duration("limit", 20*time.Second, "processor time in which jobs may arrive: greater numbers are left out if they take longer")
	flag.Parse()
	var rows []row
	for _, a := range axes {
		if !chosen(*which, a.name) {
			continue
		}
		for _, p := range policies {
			if !chosen(*only, p.name) {
				continue
			}
			for _, v := range a.values {
				if v > *most {
					continue
				}
				policy, err := p.make()
				if err != nil {
					log.Fatal(err)
				}
				r, err := measure(policy, a.at(v), *span, *limit)
				if errors.Is(err, errLimit) || errors.Is(err, sojourn.ErrUnsupported) {
					fmt.Printf("%-10s %-7s %8d %v\n", p.name, a.name, v, err)
					break
				}
				if err != nil {
					log.Fatalf("%s, %d %s: %v", p.name, v, a.name, err)
				}
				r.policy, r.axis, r.value = p.name, a.name, v
				fmt.Printf("%-10s %-7s %8d %10.0f ns %8.3f allocs %10.0f B/job\n", p.name, a.name, v, r.ns, r.allocs, r.bytesJob)
				rows = append(rows, r)
			}
		}
	}
	if err := write(*folder, rows); err != nil {
		log.Fatal(err)
	}
}

func chosen(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

var errLimit = errors.New("left out: the jobs take too long to arrive")

// warmUp is how many decisions go before those that are measured.
const warmUp = 4096

// measure measures a policy at a size.
func measure(p sojourn.Policy, s size, span, limit time.Duration) (row, error) {
	before := heap()
	c := cluster{policy: p, size: s, rng: rand.New(rand.NewPCG(1, 2))}
	if err := c.fill(limit); err != nil {
		return row{}, err
	}
	r := row{bytesJob: float64(heap()-before) / float64(s.jobs)}
	for range warmUp {
		if err := c.decide(); err != nil {
			return row{}, err
		}
	}
	var m1, m2 runtime.MemStats
	runtime.ReadMemStats(&m1)
	start, took := cpu(), time.Duration(0)
	for took < span {
		for range 1000 {
			if err := c.decide(); err != nil {
				return row{}, err
			}
		}
		r.decisions += 1000
		took = cpu() - start
	}
	runtime.ReadMemStats(&m2)
	r.ns = float64(took.Nanoseconds()) / float64(r.decisions)
	r.allocs = float64(m2.Mallocs-m1.Mallocs) / float64(r.decisions)
	r.idle = s.slots - len(c.running)
	runtime.KeepAlive(p)
	return r, nil
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap is the memory in use, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A cluster drives a policy. The slots take turns at random.
type cluster struct {
	policy  sojourn.Policy
	size    size
	rng     *rand.Rand
	now     sojourn.Time
	next    sojourn.JobID
	left    map[sojourn.JobID]int // tasks that have not finished
	running []sojourn.Assignment
	idle    []sojourn.SlotID
}

// fill brings the slots and the jobs, and starts what can be started.
func (c *cluster) fill(limit time.Duration) error {
	start := cpu()
	c.left = make(map[sojourn.JobID]int, c.size.jobs)
	c.running = make([]sojourn.Assignment, 0, c.size.slots)
	c.idle = make([]sojourn.SlotID, 0, c.size.slots)
	for i := range c.size.slots {
		id := sojourn.SlotID(i)
		if err := c.policy.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}}); err != nil {
			return err
		}
		c.idle = append(c.idle, id)
	}
	for range c.size.jobs {
		if err := c.arrive(); err != nil {
			return err
		}
		if cpu()-start > limit {
			return errLimit
		}
	}
	if err := c.wake(); err != nil {
		return err
	}
	c.start()
	return nil
}

// arrive brings the next job.
func (c *cluster) arrive() error {
	id := c.next + 1
	c.next++
	job := &sojourn.Job{ID: id, Weight: float64(1 + id%8), Pool: fmt.Sprint("p", int(id)%c.size.pools), Deadline: 1 << 60,
		Phases: make([]sojourn.Phase, c.size.phases)}
	for i := range job.Phases {
		job.Phases[i] = sojourn.Phase{Tasks: c.size.tasks, Estimate: time.Duration(1+id%100) * time.Second}
	}
	c.left[id] = c.size.tasks * c.size.phases
	return c.policy.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: c.now, Job: job})
}

// wake sends the Tick that is owed.
func (c *cluster) wake() error {
	if w, ok := sojourn.As[sojourn.Waker](c.policy); ok {
		if at, ok := w.NextWake(); ok && at <= c.now {
			return c.policy.Observe(sojourn.Event{Kind: sojourn.Tick, At: c.now})
		}
	}
	return nil
}

// start offers all idle slots.
func (c *cluster) start() {
	declined := c.idle[:0]
	for _, s := range c.idle {
		if a, ok := c.policy.Assign(s); ok {
			c.running = append(c.running, a)
		} else {
			declined = append(declined, s)
		}
	}
	c.idle = declined
}

// decide finishes a task, brings a job if one has ended, and offers the slot. A slot that is declined
// stays idle: a policy may reserve it.
func (c *cluster) decide() error {
	if 2*len(c.running) < c.size.slots {
		return errors.New("half of the slots are idle")
	}
	c.now += 1000
	i := c.rng.IntN(len(c.running))
	a := c.running[i]
	err := c.policy.Observe(sojourn.Event{Kind: sojourn.TaskFinished, At: c.now, Task: a.Task, Attempt: a.Attempt,
		Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
	if err != nil {
		return err
	}
	if c.left[a.Task.Job]--; c.left[a.Task.Job] == 0 {
		delete(c.left, a.Task.Job)
		if err := c.arrive(); err != nil {
			return err
		}
	}
	if err := c.wake(); err != nil {
		return err
	}
	if b, ok := c.policy.Assign(a.Slot); ok {
		c.running[i] = b
		return nil
	}
	last := len(c.running) - 1
	c.running[i] = c.running[last]
	c.running, c.idle = c.running[:last], append(c.idle, a.Slot)
	return nil
}

// write writes the table into a folder.
func write(folder string, rows []row) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(folder, "curves.csv"))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := table(f, rows); err != nil {
		return err
	}
	return f.Close()
}

// table writes the rows as CSV.
func table(to io.Writer, rows []row) error {
	w := csv.NewWriter(to)
	w.Write([]string{"policy", "grows", "value", "ns_decision", "allocs_decision", "bytes_job", "decisions", "idle_slots"})
	for _, r := range rows {
		w.Write([]string{r.policy, r.axis, strconv.Itoa(r.value), strconv.FormatFloat(r.ns, 'f', 0, 64),
			strconv.FormatFloat(r.allocs, 'f', 3, 64), strconv.FormatFloat(r.bytesJob, 'f', 0, 64),
			strconv.Itoa(r.decisions), strconv.Itoa(r.idle)})
	}
	w.Flush()
	return w.Error()
}
