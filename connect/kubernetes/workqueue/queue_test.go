package workqueue_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/workqueue"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
)

func newFIFO() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }

func namespace(key string) string { ns, _, _ := strings.Cut(key, "/"); return ns }

func open(t testing.TB, o workqueue.Options[string]) *workqueue.Queue[string] {
	t.Helper()
	q, err := workqueue.New("", nil, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.ShutDown)
	return q
}

// A namespace with few keys does not wait for one with many.
func TestNamespacesShare(t *testing.T) {
	q := open(t, workqueue.Options[string]{Pool: namespace})
	for i := range 1000 {
		q.Add(fmt.Sprintf("big/%d", i))
	}
	for i := range 3 {
		q.Add(fmt.Sprintf("small/%d", i))
	}
	var at []int
	for i := range 1003 {
		key, _ := q.Get()
		if namespace(key) == "small" {
			at = append(at, i)
		}
		q.Done(key)
	}
	if len(at) != 3 || at[2] > 5 {
		t.Errorf("the small namespace's keys are handed out as %v, want within the first six", at)
	}
}

// An entry of the model: a queue in words.
type entry struct {
	key      string
	priority int
	queued   bool // in the order of the slice
	busy     bool
	again    bool // added while it was busy, with priority
}

// Under fifo, keys come by their priority and then in the order in which they got it. No key is lost,
// none is with two workers.
func TestPriorities(t *testing.T) {
	priorities := []int{math.MinInt, -100, -1, 0, 1, 100, math.MaxInt}
	rapid.Check(t, func(t *rapid.T) {
		q, err := workqueue.New("", nil, workqueue.Options[string]{Policy: newFIFO})
		if err != nil {
			t.Fatal(err)
		}
		defer q.ShutDown()
		var model []*entry
		find := func(key string) *entry {
			for _, e := range model {
				if e.key == key {
					return e
				}
			}
			e := &entry{key: key}
			model = append(model, e)
			return e
		}
		toEnd := func(e *entry) {
			model = append(slices.DeleteFunc(model, func(x *entry) bool { return x == e }), e)
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key")
				priority := rapid.SampledFrom(priorities).Draw(t, "priority")
				if rapid.Bool().Draw(t, "plain") {
					priority = 0
					q.Add(key)
				} else {
					q.AddWithPriority(priority, 0, key)
				}
				e := find(key)
				switch {
				case e.busy && e.again || e.queued:
					if priority > e.priority {
						e.priority = priority
						toEnd(e)
					}
				case e.busy:
					e.again, e.priority = true, priority
				default:
					e.queued, e.priority = true, priority
					toEnd(e)
				}
			},
			"get": func(t *rapid.T) {
				var want *entry
				for _, e := range model {
					if e.queued && (want == nil || e.priority > want.priority) {
						want = e
					}
				}
				if want == nil {
					t.Skip("Get would wait")
				}
				key, priority, shutdown := q.GetWithPriority()
				if key != want.key || priority != want.priority || shutdown {
					t.Fatalf("%q with priority %d, want %+v", key, priority, *want)
				}
				want.queued, want.busy = false, true
			},
			"done": func(t *rapid.T) {
				for _, e := range model {
					if e.busy {
						q.Done(e.key)
						e.busy = false
						if e.again {
							e.again, e.queued = false, true
							toEnd(e)
						}
						break
					}
				}
			},
			"": func(t *rapid.T) {
				n := 0
				for _, e := range model {
					if e.queued {
						n++
					}
				}
				if q.Len() != n {
					t.Fatalf("Len is %d, want %d", q.Len(), n)
				}
			},
		})
	})
}

// A delayed key keeps its priority, and a key that is queued gets it at once.
func TestDelayedPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open(t, workqueue.Options[string]{Policy: newFIFO})
		defer q.ShutDown()
		q.AddWithPriority(-5, time.Second, "late")
		q.AddWithPriority(3, time.Second, "early")
		q.Add("now")
		q.Add("raised")
		q.AddWithPriority(1, time.Hour, "raised")
		for _, want := range []struct {
			key      string
			priority int
			at       time.Duration
		}{{"raised", 1, 0}, {"now", 0, 0}, {"early", 3, time.Second}, {"late", -5, time.Second}} {
			start := time.Now()
			if want.at > 0 && q.Len() == 0 {
				time.Sleep(want.at)
				synctest.Wait()
			}
			key, priority, _ := q.GetWithPriority()
			if key != want.key || priority != want.priority || time.Since(start) > want.at {
				t.Errorf("%q with priority %d, want %+v", key, priority, want)
			}
			q.Done(key)
		}
	})
}

// A pool that has reached its limit leaves workers idle. They go on when a key is done.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open(t, workqueue.Options[string]{Pool: namespace, Policy: func() (sojourn.Policy, error) {
			return fair.New(fair.Options{Pools: map[string]fair.Pool{"*": {Max: fair.Slots{0: 2}}}})
		}})
		defer q.ShutDown()
		busy, most := map[string]int{}, map[string]int{}
		var mu sync.Mutex
		var workers sync.WaitGroup
		for range 6 {
			workers.Go(func() {
				for {
					key, shutdown := q.Get()
					if shutdown {
						return
					}
					mu.Lock()
					busy[namespace(key)]++
					most[namespace(key)] = max(most[namespace(key)], busy[namespace(key)])
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					busy[namespace(key)]--
					mu.Unlock()
					q.Done(key)
				}
			})
		}
		start := time.Now()
		for i := range 10 {
			q.Add(fmt.Sprintf("a/%d", i))
			q.Add(fmt.Sprintf("b/%d", i))
		}
		q.ShutDown()
		workers.Wait()
		if most["a"] != 2 || most["b"] != 2 || time.Since(start) != 5*time.Second {
			t.Errorf("at most %v keys of a namespace at once in %v, want 2 each in 5 s", most, time.Since(start))
		}
	})
}

// A moody policy starts nothing before its time, and refuses the jobs of some pools.
type moody struct {
	*fifo.Policy
	opens, now sojourn.Time
	refuses    string
}

var errMoody = errors.New("not this one")

func (m *moody) Observe(ev sojourn.Event) error {
	m.now = max(m.now, ev.At)
	if ev.Kind == sojourn.JobArrived && (ev.Job.Pool == m.refuses || m.refuses == "*") {
		return errMoody
	}
	return m.Policy.Observe(ev)
}

func (m *moody) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if m.now < m.opens {
		return 0, false
	}
	return m.Policy.Seek(c)
}

func (m *moody) NextWake() (sojourn.Time, bool) { return m.opens, m.now < m.opens }

func newMoody(opens time.Duration, refuses string) func() (sojourn.Policy, error) {
	return func() (sojourn.Policy, error) {
		p, err := fifo.New(fifo.Options{})
		return &moody{Policy: p, opens: sojourn.Time(opens), refuses: refuses}, err
	}
}

// The queue asks a policy again at the instant that it names.
func TestWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open(t, workqueue.Options[string]{Policy: newMoody(time.Minute, "none")})
		defer q.ShutDown()
		start := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				key, _ := q.Get()
				if time.Since(start) != time.Minute {
					t.Errorf("%q after %v, want after a minute", key, time.Since(start))
				}
				time.Sleep(time.Second) // the others do not wait for Done
				q.Done(key)
			})
		}
		for i := range 3 {
			q.Add(fmt.Sprint(i))
		}
		wg.Wait()
	})
}

// No key is lost because a policy does not want its job.
func TestRefusedKeys(t *testing.T) {
	for _, refuses := range []string{"bad", "*"} {
		refused := map[string]error{}
		q := open(t, workqueue.Options[string]{Pool: namespace, Policy: newMoody(0, refuses), Refused: func(key string, err error) { refused[key] = err }})
		keys := []string{"good/1", "bad/1", "good/2", "bad/2", "bad/1"}
		for _, key := range keys {
			q.Add(key)
		}
		q.AddWithPriority(7, 0, "bad/2")
		var got []string
		for range 4 {
			key, _ := q.Get()
			got = append(got, key)
			q.Done(key)
		}
		want := []string{"bad/2", "good/1", "bad/1", "good/2"}
		if refuses == "*" {
			want = []string{"good/1", "bad/1", "good/2", "bad/2"}
		}
		if !slices.Equal(got, want) || q.Len() != 0 || refused["bad/1"] == nil || refuses == "bad" && refused["good/1"] != nil {
			t.Errorf("%s: %v, want %v; refused: %v", refuses, got, want, refused)
		}
	}
}

// A mute policy starts nothing, and says nothing of later.
type mute struct{ *fifo.Policy }

func (mute) Seek(sojourn.Class) (sojourn.SlotID, bool) { return 0, false }

// Get does not wait for ever for a key that the policy never starts.
func TestShutDownUnderAPolicyThatStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func() (sojourn.Policy, error) {
			p, err := fifo.New(fifo.Options{})
			return mute{p}, err
		}
		q := open(t, workqueue.Options[string]{Pool: namespace, Policy: never})
		q.Add("a/1")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if key, shutdown := q.Get(); !shutdown {
					t.Errorf("got %q", key)
				}
			})
		}
		synctest.Wait()
		q.ShutDown()
		wg.Wait()
	})
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		o    workqueue.Options[string]
		want string
	}{
		{workqueue.Options[string]{Pool: namespace, Job: func(string) sojourn.Job { return sojourn.Job{} }}, "both set"},
		{workqueue.Options[string]{Policy: func() (sojourn.Policy, error) { return nil, errMoody }}, "not this one"},
		{workqueue.Options[string]{Policy: func() (sojourn.Policy, error) { return dull{}, nil }}, "no sojourn.Seeker"},
	} {
		if _, err := workqueue.New("", nil, tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want one with %q", err, tc.want)
		}
	}
}

type dull struct{}

func (dull) Observe(sojourn.Event) error                           { return nil }
func (dull) Assign(sojourn.SlotID) (_ sojourn.Assignment, ok bool) { return }

// Many goroutines use all that a queue can do; each key is worked on by one at a time, and after
// the last time that it was added.
func TestConcurrent(t *testing.T) {
	q := open(t, workqueue.Options[string]{Pool: namespace})
	const keys, adders, workers, rounds = 50, 4, 8, 300
	var mu sync.Mutex
	added, seen, busy := map[string]int{}, map[string]int{}, map[string]bool{}
	var adding, working sync.WaitGroup
	for a := range adders {
		adding.Go(func() {
			for i := range rounds {
				key := fmt.Sprintf("%d/%d", i%7, (i*a+i)%keys)
				mu.Lock()
				added[key]++
				mu.Unlock()
				q.AddWithPriority(i%3-1, time.Duration(i%2)*time.Microsecond, key)
			}
		})
	}
	for range workers {
		working.Go(func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				mu.Lock()
				if busy[key] {
					t.Errorf("%q is with two workers", key)
				}
				busy[key], seen[key] = true, added[key]
				mu.Unlock()
				mu.Lock()
				busy[key] = false
				mu.Unlock()
				q.Done(key)
			}
		})
	}
	adding.Wait()
	for settled := false; !settled; time.Sleep(time.Millisecond) {
		mu.Lock()
		settled = true
		for key, n := range added {
			settled = settled && seen[key] == n
		}
		mu.Unlock()
	}
	q.ShutDown()
	working.Wait()
}

// With Drop, nobody gets a key once the queue shuts down: neither who waits, nor who comes later. Who drains waits for those that
// are worked on only.
func TestDrop(t *testing.T) {
	for name, shutDown := range map[string]func(*workqueue.Queue[int]){"ShutDown": (*workqueue.Queue[int]).ShutDown, "ShutDownWithDrain": (*workqueue.Queue[int]).ShutDownWithDrain} {
		synctest.Test(t, func(t *testing.T) {
			q, err := workqueue.New("", nil, workqueue.Options[int]{Drop: true})
			if err != nil {
				t.Fatal(err)
			}
			defer q.ShutDown() // which also ends what waits for delays
			q.Add(1)
			first, _ := q.Get()
			waits := make(chan bool, 1)
			go func() {
				_, shut := q.Get()
				waits <- shut
			}()
			synctest.Wait()
			down := make(chan bool)
			go func() {
				shutDown(q)
				close(down)
			}()
			synctest.Wait()
			q.Add(2)
			if shut := <-waits; !shut {
				t.Errorf("%s: who waited got a key", name)
			}
			q.Done(first)
			<-down
			if key, shut := q.Get(); !shut {
				t.Errorf("%s: got key %d afterwards", name, key)
			}
		})
	}
}
