package priorityqueue_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	upstream "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/workqueue"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/workqueue/priorityqueue"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
)

type request = reconcile.Request

type newQueue = func(string, clientgo.TypedRateLimiter[request]) clientgo.TypedRateLimitingInterface[request]

// ours returns queues under a policy, with a pool for each namespace.
func ours(t testing.TB, policy func() (sojourn.Policy, error)) newQueue {
	f, err := priorityqueue.For(workqueue.Options[request]{Pool: func(r request) string { return r.Namespace }, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newHFSP() (sojourn.Policy, error)  { return hfsp.New(hfsp.Options{}) }
func newLeast() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }

func newFIFO() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }

func key(namespace string, i int) request {
	return request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}}
}

// waits runs a controller with four workers, which take 2 ms for a key. A namespace adds 2,000
// keys, and after it ten namespaces add 3 keys each. It returns how long the keys of the small
// namespaces waited until they were reconciled, sorted, and when the last key was.
func waits(t *testing.T, nq newQueue) (small []time.Duration, last time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		start := time.Now()
		var left sync.WaitGroup
		c, err := controller.NewTypedUnmanaged[request]("sites", controller.TypedOptions[request]{
			MaxConcurrentReconciles: 4, NewQueue: nq, SkipNameValidation: ptr.To(true),
			LogConstructor: func(*request) logr.Logger { return logr.Discard() },
			Reconciler: reconcile.Func(func(_ context.Context, r request) (reconcile.Result, error) {
				time.Sleep(2 * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				last = time.Since(start)
				if r.Namespace != "big" {
					small = append(small, last)
				}
				left.Done()
				return reconcile.Result{}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		left.Add(2030)
		err = c.Watch(source.TypedFunc[request](func(_ context.Context, q clientgo.TypedRateLimitingInterface[request]) error {
			for i := range 2000 {
				q.Add(key("big", i))
			}
			for n := range 10 {
				for i := range 3 {
					q.Add(key(fmt.Sprint("small", n), i))
				}
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		var stopped sync.WaitGroup
		stopped.Go(func() {
			if err := c.Start(ctx); err != nil {
				t.Error(err)
			}
		})
		left.Wait()
		cancel()
		stopped.Wait()
	})
	slices.Sort(small)
	return small, last
}

// Small namespaces do not wait for a big one, under a real controller. Time is that of a bubble, so
// order is measured here, and not speed.
func TestSmallNamespaces(t *testing.T) {
	clientGo := func(name string, limiter clientgo.TypedRateLimiter[request]) clientgo.TypedRateLimitingInterface[request] {
		return clientgo.NewTypedRateLimitingQueueWithConfig(limiter, clientgo.TypedRateLimitingQueueConfig[request]{Name: name})
	}
	measure := func(name string, nq newQueue) (median, last time.Duration) {
		small, last := waits(t, nq)
		t.Logf("%-14s small namespaces: median %v, 99th percentile %v; last key %v", name, small[15], small[29], last)
		return small[15], last
	}
	measure("client-go", clientGo)
	theirs, theirLast := measure("PriorityQueue", nil)
	median, last := measure("fair", ours(t, nil))
	measure("leastwork", ours(t, newLeast))
	measure("hfsp", ours(t, newHFSP))
	measure("fifo", ours(t, newFIFO))
	if median*20 > theirs || last > theirLast+2*time.Millisecond {
		t.Errorf("small namespaces wait %v in the median and the last key %v, want at most a twentieth of %v, and %v",
			median, last, theirs, theirLast)
	}
}

// The queue does what controller-runtime's does with each of its calls: the same keys come in
// the same order at the same times, with the same priorities.
func TestLikePriorityQueue(t *testing.T) {
	type got struct {
		key      string
		priority int
		at       time.Duration
	}
	run := func(q upstream.PriorityQueue[string]) (all []got) {
		start := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				key, priority, shutdown := q.GetWithPriority()
				if shutdown {
					return
				}
				all = append(all, got{key, priority, time.Since(start)})
				time.Sleep(time.Second)
				if len(all) == 1 {
					q.Add(key) // while it is worked on
				}
				q.Done(key)
			}
		}()
		synctest.Wait()
		q.Add("first")
		synctest.Wait()
		q.AddWithOpts(upstream.AddOpts{Priority: ptr.To(-100)}, "low", "lower", "raised")
		q.AddWithOpts(upstream.AddOpts{Priority: ptr.To(5)}, "high", "high", "raised")
		q.AddWithOpts(upstream.AddOpts{Priority: ptr.To(-100)}, "high")
		q.AddWithOpts(upstream.AddOpts{After: 90 * time.Second, Priority: ptr.To(2)}, "later")
		q.AddWithOpts(upstream.AddOpts{After: 80 * time.Second}, "later")
		q.AddWithOpts(upstream.AddOpts{RateLimited: true, After: time.Hour}, "limited")
		q.AddWithOpts(upstream.AddOpts{RateLimited: true, After: time.Microsecond}, "soon")
		q.AddAfter("after", 70*time.Second)
		time.Sleep(time.Microsecond) // client-go orders keys of one instant as it likes
		q.AddRateLimited("limited again")
		q.AddWithOpts(upstream.AddOpts{})
		time.Sleep(2 * time.Minute)
		q.ShutDown()
		<-done
		return all
	}
	var want, have []got
	synctest.Test(t, func(t *testing.T) { want = run(upstream.New[string]("")) })
	synctest.Test(t, func(t *testing.T) {
		q, err := priorityqueue.New("", clientgo.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second), workqueue.Options[string]{Policy: newFIFO})
		if err != nil {
			t.Fatal(err)
		}
		have = run(q)
	})
	if !slices.Equal(have, want) {
		t.Errorf("got\n%v, want\n%v", have, want)
	}
}

// BenchmarkThroughput lets four workers empty queues with 2,000 keys of one namespace: controller-runtime's
// and ours in turn, so that both see the same machine. It reports what a key takes in both, and
// the quotients: their time over ours.
func BenchmarkThroughput(b *testing.B) {
	b.Run("Pool", func(b *testing.B) { compare(b, nil) })
	b.Run("Policy", func(b *testing.B) { compare(b, newFair) })
}

func newFair() (sojourn.Policy, error) { return fair.New(fair.Options{}) }

func compare(b *testing.B, policy func() (sojourn.Policy, error)) {
	const keys = 2000
	queues := []func() clientgo.TypedRateLimitingInterface[request]{
		func() clientgo.TypedRateLimitingInterface[request] { return upstream.New[request]("") },
		func() clientgo.TypedRateLimitingInterface[request] { return ours(b, policy)("", nil) },
	}
	var wall, cpu [2]time.Duration
	for n := 0; b.Loop(); n++ {
		for i := range queues {
			i = (i + n) % len(queues)
			start, used := time.Now(), processorTime(b)
			empty(queues[i](), keys)
			wall[i] += time.Since(start)
			cpu[i] += processorTime(b) - used
		}
	}
	n := float64(b.N * keys)
	b.ReportMetric(float64(cpu[0])/n, "theirs-cpu-ns/key")
	b.ReportMetric(float64(cpu[1])/n, "ours-cpu-ns/key")
	b.ReportMetric(float64(cpu[0])/float64(cpu[1]), "cpu-ratio")
	b.ReportMetric(float64(wall[0])/float64(wall[1]), "wall-ratio")
}

// processorTime returns how long this process has used processors, in user and in system mode.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// empty adds keys of one namespace and lets four workers take all of them.
func empty(q clientgo.TypedRateLimitingInterface[request], keys int) {
	for i := range keys {
		q.Add(key("big", i))
	}
	var left, workers sync.WaitGroup
	left.Add(keys)
	for range 4 {
		workers.Go(func() {
			for {
				r, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Done(r)
				left.Done()
			}
		})
	}
	left.Wait()
	q.ShutDown()
	workers.Wait()
}

// When its context ends, a controller finishes what it works on, and nothing of the 5,000 keys that are queued: it stops within
// the 20 ms of one key, as with controller-runtime's queue.
func TestWhatIsLeftAtShutdown(t *testing.T) {
	for name, nq := range map[string]newQueue{"controller-runtime": nil, "fair": ours(t, nil), "hfsp": ours(t, newHFSP)} {
		synctest.Test(t, func(t *testing.T) {
			const work = 20 * time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			var late sync.Map
			c, err := controller.NewTypedUnmanaged[request]("stops", controller.TypedOptions[request]{
				NewQueue: nq, SkipNameValidation: ptr.To(true), MaxConcurrentReconciles: 4,
				LogConstructor: func(*request) logr.Logger { return logr.Discard() },
				Reconciler: reconcile.Func(func(ctx context.Context, r request) (reconcile.Result, error) {
					if ctx.Err() != nil {
						late.Store(r, true)
					}
					time.Sleep(work)
					return reconcile.Result{}, nil
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			fill := source.TypedFunc[request](func(_ context.Context, q clientgo.TypedRateLimitingInterface[request]) error {
				for i := range 5000 {
					q.Add(key("n", i))
				}
				return nil
			})
			if err := c.Watch(fill); err != nil {
				t.Fatal(err)
			}
			stopped := make(chan struct{})
			go func() {
				c.Start(ctx)
				close(stopped)
			}()
			time.Sleep(100*work + work/2)
			cancel()
			start := time.Now()
			<-stopped
			if took := time.Since(start); took > work {
				t.Errorf("%s: it took %v to stop, want %v at most", name, took, work)
			}
			n := 0
			late.Range(func(any, any) bool { n++; return true })
			if n > 4 {
				t.Errorf("%s: %d keys were worked on after the end, want 4 at most, one for each worker", name, n)
			}
		})
	}
}
