package journal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/journal"
)

func newFIFO(tb testing.TB) sojourn.Policy {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func newHFSP(testing.TB) sojourn.Policy {
	p, err := constructors.HFSP(hfsp.Options{})
	must(err)
	return p
}

// A heap keeps segments in memory. A sync takes a while.
type heap struct {
	segments map[uint64][]byte
	forget   bool // what is appended
	bytes    int
	sync     time.Duration
	syncs    int
}

func newHeap() *heap { return &heap{segments: map[uint64][]byte{}} }

func (h *heap) Segments() (list []uint64, _ error) {
	for n := range h.segments {
		list = append(list, n)
	}
	slices.Sort(list)
	return list, nil
}
func (h *heap) Name(n uint64) string            { return fmt.Sprint("segment ", n) }
func (h *heap) Read(n uint64) ([]byte, error)   { return h.segments[n], nil }
func (h *heap) Create(n uint64, b []byte) error { h.segments[n] = slices.Clone(b); return nil }
func (h *heap) Remove(n uint64) error           { delete(h.segments, n); return nil }
func (h *heap) Close() error                    { return nil }
func (h *heap) Sync(uint64) error               { h.syncs++; time.Sleep(h.sync); return nil }
func (h *heap) Append(n uint64, b []byte) error {
	h.bytes += len(b)
	if !h.forget {
		h.segments[n] = append(h.segments[n], b...)
	}
	return nil
}

func open(tb testing.TB, s journal.Store, p sojourn.Policy) *journal.Journal {
	j, err := journal.Open(s, p, journal.Options{SnapshotBytes: -1})
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

// A cluster ends and starts tasks on 512 slots.
type cluster struct {
	tb      testing.TB
	p       sojourn.Policy
	now     sojourn.Time
	running [512]sojourn.Assignment
	rng     *rand.Rand
}

// newCluster lets jobs of many tasks arrive, and fills the slots.
func newCluster(tb testing.TB, p sojourn.Policy, jobs, tasks int) *cluster {
	c := &cluster{tb: tb, p: p, now: sojourn.Time(1_700_000_000 * time.Second), rng: rand.New(rand.NewPCG(1, 2))}
	for id := range c.running {
		c.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id), Node: sojourn.NodeID(1 + id/16)}})
	}
	for id := range jobs {
		c.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(id + 1), Name: "job", Pool: "pool",
			Phases: []sojourn.Phase{{Tasks: tasks, Estimate: time.Minute}}}})
	}
	for id := range c.running {
		c.assign(sojourn.SlotID(id))
	}
	return c
}

func (c *cluster) observe(ev sojourn.Event) {
	c.now += sojourn.Time(c.rng.IntN(1_000_000))
	ev.At = c.now
	if err := c.p.Observe(ev); err != nil {
		c.tb.Fatal(err)
	}
}

func (c *cluster) assign(id sojourn.SlotID) {
	var ok bool
	if c.running[id], ok = c.p.Assign(id); !ok {
		c.tb.Fatal("nothing to assign")
	}
}

// step ends a task and starts one: two records.
func (c *cluster) step() {
	a := c.running[c.rng.IntN(len(c.running))]
	c.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot},
		Service: time.Duration(c.rng.Int64N(int64(time.Hour)))})
	c.assign(a.Slot)
}

// What a record costs: the difference of the two, halved, since a step has two records.
func BenchmarkRecord(b *testing.B) {
	for _, what := range []string{"bare", "journal"} {
		b.Run(what, func(b *testing.B) {
			p, h := newFIFO(b), newHeap()
			h.forget = true
			if what == "journal" {
				p = open(b, h, p)
			}
			c := newCluster(b, p, 1000, 1<<20)
			if j, ok := p.(*journal.Journal); ok {
				if err := j.Flush(); err != nil {
					b.Fatal(err)
				}
			}
			h.bytes = 0
			n := 0
			for b.Loop() {
				n++
				c.step()
			}
			if j, ok := p.(*journal.Journal); ok {
				if err := j.Flush(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(h.bytes)/float64(2*n), "B/record")
			}
		})
	}
}

// Open of a journal without a snapshot of late: a hundred thousand records are asked again.
func BenchmarkReplay(b *testing.B) {
	h := newHeap()
	j := open(b, h, newFIFO(b))
	c := newCluster(b, j, 1000, 1<<20)
	for range 50_000 {
		c.step()
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n += open(b, h, newFIFO(b)).Restored().Records
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
	b.ReportMetric(b.Elapsed().Seconds()/float64(n)*1e9, "ns/record")
}

// Open of a journal that begins with a snapshot of more than 100,000 live jobs, policy and account together.
func BenchmarkReopen(b *testing.B) {
	for name, newPolicy := range map[string]func(testing.TB) sojourn.Policy{"fifo": newFIFO, "hfsp": newHFSP} {
		b.Run(name, func(b *testing.B) {
			h := newHeap()
			j := open(b, h, newPolicy(b))
			c := newCluster(b, j, 110_000, 10) // one job of eleven ends
			for range 100_000 {
				c.step()
			}
			live := j.Account().Live()
			if err := j.Snapshot(); err != nil {
				b.Fatal(err)
			}
			if err := j.Close(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				k := open(b, h, newPolicy(b))
				if k.Account().Live() != live || k.Restored().Rebuilt != nil {
					b.Fatal(k.Restored())
				}
			}
			b.ReportMetric(float64(live), "jobs")
			b.ReportMetric(float64(len(h.segments[2]))/float64(live), "B/job")
		})
	}
}

// What a call does that fills a segment, without Options.Another: jobs of one task, with 60 bytes attached, as package live has them.
func BenchmarkSnapshot(b *testing.B) {
	const jobs = 100_000
	for name, newPolicy := range map[string]func(testing.TB) sojourn.Policy{"fifo": newFIFO, "hfsp": newHFSP} {
		b.Run(name, func(b *testing.B) {
			j := open(b, newHeap(), newPolicy(b))
			c := newCluster(b, j, jobs, 1)
			for id := range sojourn.JobID(jobs) {
				if err := j.Attach(id+1, make([]byte, 60)); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				c.step()
				if err := j.Snapshot(); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := j.Flush(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/jobs, "ns/job")
		})
	}
}

// Starts on 512 slots, each of them synced before the task begins. A task takes no time. A sync takes a millisecond, or as long
// as the disk needs.
func BenchmarkSyncedStarts(b *testing.B) {
	for _, slots := range []int{1, 16, 512} {
		b.Run(fmt.Sprintf("slots=%d/sync=1ms", slots), func(b *testing.B) {
			h := newHeap()
			h.forget, h.sync = true, time.Millisecond
			syncedStarts(b, h, slots)
			b.ReportMetric(float64(h.syncs)/float64(b.N), "syncs/start")
		})
		b.Run(fmt.Sprintf("slots=%d/disk", slots), func(b *testing.B) {
			s, err := journal.OpenFiles(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			syncedStarts(b, s, slots)
		})
	}
}

func syncedStarts(b *testing.B, s journal.Store, slots int) {
	j := open(b, s, newFIFO(b))
	defer j.Close()
	c := newCluster(b, j, 1000, 1<<20)
	b.ResetTimer()
	var mu sync.Mutex
	left := b.N
	var wg sync.WaitGroup
	for id := range slots {
		wg.Go(func() {
			for {
				mu.Lock()
				if left--; left < 0 {
					mu.Unlock()
					return
				}
				a := c.running[id]
				c.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
				c.assign(a.Slot)
				pos := j.End()
				mu.Unlock()
				if err := j.Wait(pos); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "starts/s")
}
