/*
Copyright 2015 The Kubernetes Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// These are the tests of client-go's work queue, changed to run on the queue of this package.
// Touch is not asked for: the storage is the queue's own.

package workqueue_test

import (
	"context"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	clientgo "k8s.io/client-go/util/workqueue"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/workqueue"
)

// upstream returns a queue for client-go's tests.
func upstream() *workqueue.Queue[any] {
	q, err := workqueue.New[any]("", nil, workqueue.Options[any]{})
	if err != nil {
		panic(err)
	}
	return q
}

func TestBasic(t *testing.T) {
	tests := []struct {
		queue         *workqueue.Queue[any]
		queueShutDown func(*workqueue.Queue[any])
	}{
		{
			queue:         upstream(),
			queueShutDown: (*workqueue.Queue[any]).ShutDown,
		},
		{
			queue:         upstream(),
			queueShutDown: (*workqueue.Queue[any]).ShutDownWithDrain,
		},
	}
	for _, test := range tests {
		// If something is seriously wrong this test will never complete.

		// Start producers
		const producers = 50
		producerWG := sync.WaitGroup{}
		producerWG.Add(producers)
		for i := 0; i < producers; i++ {
			go func(i int) {
				defer producerWG.Done()
				for j := 0; j < 50; j++ {
					test.queue.Add(i)
					time.Sleep(time.Millisecond)
				}
			}(i)
		}

		// Start consumers
		const consumers = 10
		consumerWG := sync.WaitGroup{}
		consumerWG.Add(consumers)
		for i := 0; i < consumers; i++ {
			go func(i int) {
				defer consumerWG.Done()
				for {
					item, quit := test.queue.Get()
					if item == "added after shutdown!" {
						t.Errorf("Got an item added after shutdown.")
					}
					if quit {
						return
					}
					t.Logf("Worker %v: begin processing %v", i, item)
					time.Sleep(3 * time.Millisecond)
					t.Logf("Worker %v: done processing %v", i, item)
					test.queue.Done(item)
				}
			}(i)
		}

		producerWG.Wait()
		test.queueShutDown(test.queue)
		test.queue.Add("added after shutdown!")
		consumerWG.Wait()
		if test.queue.Len() != 0 {
			t.Errorf("Expected the queue to be empty, had: %v items", test.queue.Len())
		}
	}
}

func TestAddWhileProcessing(t *testing.T) {
	tests := []struct {
		queue         *workqueue.Queue[any]
		queueShutDown func(*workqueue.Queue[any])
	}{
		{
			queue:         upstream(),
			queueShutDown: (*workqueue.Queue[any]).ShutDown,
		},
		{
			queue:         upstream(),
			queueShutDown: (*workqueue.Queue[any]).ShutDownWithDrain,
		},
	}
	for _, test := range tests {

		// Start producers
		const producers = 50
		producerWG := sync.WaitGroup{}
		producerWG.Add(producers)
		for i := 0; i < producers; i++ {
			go func(i int) {
				defer producerWG.Done()
				test.queue.Add(i)
			}(i)
		}

		// Start consumers
		const consumers = 10
		consumerWG := sync.WaitGroup{}
		consumerWG.Add(consumers)
		for i := 0; i < consumers; i++ {
			go func(i int) {
				defer consumerWG.Done()
				// Every worker will re-add every item up to two times.
				// This tests the dirty-while-processing case.
				counters := map[interface{}]int{}
				for {
					item, quit := test.queue.Get()
					if quit {
						return
					}
					counters[item]++
					if counters[item] < 2 {
						test.queue.Add(item)
					}
					test.queue.Done(item)
				}
			}(i)
		}

		producerWG.Wait()
		test.queueShutDown(test.queue)
		consumerWG.Wait()
		if test.queue.Len() != 0 {
			t.Errorf("Expected the queue to be empty, had: %v items", test.queue.Len())
		}
	}
}

func TestLen(t *testing.T) {
	q := upstream()
	q.Add("foo")
	if e, a := 1, q.Len(); e != a {
		t.Errorf("Expected %v, got %v", e, a)
	}
	q.Add("bar")
	if e, a := 2, q.Len(); e != a {
		t.Errorf("Expected %v, got %v", e, a)
	}
	q.Add("foo") // should not increase the queue length.
	if e, a := 2, q.Len(); e != a {
		t.Errorf("Expected %v, got %v", e, a)
	}
}

func TestReinsert(t *testing.T) {
	q := upstream()
	q.Add("foo")

	// Start processing
	i, _ := q.Get()
	if i != "foo" {
		t.Errorf("Expected %v, got %v", "foo", i)
	}

	// Add it back while processing
	q.Add(i)

	// Finish it up
	q.Done(i)

	// It should be back on the queue
	i, _ = q.Get()
	if i != "foo" {
		t.Errorf("Expected %v, got %v", "foo", i)
	}

	// Finish that one up
	q.Done(i)

	if a := q.Len(); a != 0 {
		t.Errorf("Expected queue to be empty. Has %v items", a)
	}
}

func TestCollapse(t *testing.T) {
	q := upstream()
	// Add a new one twice
	q.Add("bar")
	q.Add("bar")

	// It should get the new one
	i, _ := q.Get()
	if i != "bar" {
		t.Errorf("Expected %v, got %v", "bar", i)
	}

	// Finish that one up
	q.Done(i)

	// There should be no more objects in the queue
	if a := q.Len(); a != 0 {
		t.Errorf("Expected queue to be empty. Has %v items", a)
	}
}

func TestCollapseWhileProcessing(t *testing.T) {
	q := upstream()
	q.Add("foo")

	// Start processing
	i, _ := q.Get()
	if i != "foo" {
		t.Errorf("Expected %v, got %v", "foo", i)
	}

	// Add the same one twice
	q.Add("foo")
	q.Add("foo")

	waitCh := make(chan struct{})
	// simulate another worker consuming the queue
	go func() {
		defer close(waitCh)
		i, _ := q.Get()
		if i != "foo" {
			t.Errorf("Expected %v, got %v", "foo", i)
		}
		// Finish that one up
		q.Done(i)
	}()

	// give the worker some head start to avoid races
	// on the select statement that cause flakiness
	time.Sleep(100 * time.Millisecond)
	// Finish the first one to unblock the other worker
	select {
	case <-waitCh:
		t.Errorf("worker should be blocked until we are done")
	default:
		q.Done("foo")
	}

	// wait for the worker to consume the new object
	// There should be no more objects in the queue
	<-waitCh
	if a := q.Len(); a != 0 {
		t.Errorf("Expected queue to be empty. Has %v items", a)
	}
}

func TestQueueDrainageUsingShutDownWithDrain(t *testing.T) {

	q := upstream()

	q.Add("foo")
	q.Add("bar")

	firstItem, _ := q.Get()
	secondItem, _ := q.Get()

	finishedWG := sync.WaitGroup{}
	finishedWG.Add(1)
	go func() {
		defer finishedWG.Done()
		q.ShutDownWithDrain()
	}()

	// This is done as to simulate a sequence of events where ShutDownWithDrain
	// is called before we start marking all items as done - thus simulating a
	// drain where we wait for all items to finish processing.
	shuttingDown := false
	for !shuttingDown {
		_, shuttingDown = q.Get()
	}

	// Mark the first two items as done, as to finish up
	q.Done(firstItem)
	q.Done(secondItem)

	finishedWG.Wait()
}

func TestNoQueueDrainageUsingShutDown(t *testing.T) {

	q := upstream()

	q.Add("foo")
	q.Add("bar")

	q.Get()
	q.Get()

	finishedWG := sync.WaitGroup{}
	finishedWG.Add(1)
	go func() {
		defer finishedWG.Done()
		// Invoke ShutDown: suspending the execution immediately.
		q.ShutDown()
	}()

	// We can now do this and not have the test timeout because we didn't call
	// Done on the first two items before arriving here.
	finishedWG.Wait()
}

func TestForceQueueShutdownUsingShutDown(t *testing.T) {

	q := upstream()

	q.Add("foo")
	q.Add("bar")

	q.Get()
	q.Get()

	finishedWG := sync.WaitGroup{}
	finishedWG.Add(1)
	go func() {
		defer finishedWG.Done()
		q.ShutDownWithDrain()
	}()

	// This is done as to simulate a sequence of events where ShutDownWithDrain
	// is called before ShutDown
	shuttingDown := false
	for !shuttingDown {
		_, shuttingDown = q.Get()
	}

	// Use ShutDown to force the queue to shut down (simulating a caller
	// which can invoke this function on a second SIGTERM/SIGINT)
	q.ShutDown()

	// We can now do this and not have the test timeout because we didn't call
	// done on any of the items before arriving here.
	finishedWG.Wait()
}

func TestQueueDrainageUsingShutDownWithDrainWithDirtyItem(t *testing.T) {
	q := upstream()

	q.Add("foo")
	gotten, _ := q.Get()
	q.Add("foo")

	finishedWG := sync.WaitGroup{}
	finishedWG.Add(1)
	go func() {
		defer finishedWG.Done()
		q.ShutDownWithDrain()
	}()

	// Ensure that ShutDownWithDrain has started and is blocked.
	shuttingDown := false
	for !shuttingDown {
		_, shuttingDown = q.Get()
	}

	// Finish "working".
	q.Done(gotten)

	// `shuttingDown` becomes false because Done caused an item to go back into
	// the queue.
	again, shuttingDown := q.Get()
	if shuttingDown {
		t.Fatalf("should not have been done")
	}
	q.Done(again)

	// Now we are really done.
	_, shuttingDown = q.Get()
	if !shuttingDown {
		t.Fatalf("should have been done")
	}

	finishedWG.Wait()
}

// TestGarbageCollection ensures that objects that are added then removed from the queue are
// able to be garbage collected.
func TestGarbageCollection(t *testing.T) {
	type bigObject struct {
		data []byte
	}
	leakQueue := upstream()
	t.Cleanup(func() {
		// Make sure leakQueue doesn't go out of scope too early
		runtime.KeepAlive(leakQueue)
	})
	c := &bigObject{data: []byte("hello")}
	mustGarbageCollect(t, c)
	leakQueue.Add(c)
	o, _ := leakQueue.Get()
	leakQueue.Done(o)
}

// mustGarbageCollect asserts than an object was garbage collected by the end of the test.
// The input must be a pointer to an object.
func mustGarbageCollect(t *testing.T, i interface{}) {
	t.Helper()
	var collected int32 = 0
	runtime.SetFinalizer(i, func(x interface{}) {
		atomic.StoreInt32(&collected, 1)
	})
	t.Cleanup(func() {
		if err := wait.PollUntilContextTimeout(context.Background(), time.Millisecond*100, wait.ForeverTestTimeout, true, func(context.Context) (done bool, err error) {
			// Trigger GC explicitly, otherwise we may need to wait a long time for it to run
			runtime.GC()
			return atomic.LoadInt32(&collected) == 1, nil
		}); err != nil {
			t.Errorf("object was not garbage collected")
		}
	})
}

func TestSimpleQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := upstream()
		defer q.ShutDown()

		first := "foo"

		q.AddAfter(first, 50*time.Millisecond)
		synctest.Wait()

		if q.Len() != 0 {
			t.Errorf("should not have added")
		}

		time.Sleep(60 * time.Millisecond)
		synctest.Wait()

		if q.Len() != 1 {
			t.Errorf("should have added")
		}
		item, _ := q.Get()
		q.Done(item)

		// step past the next heartbeat
		time.Sleep(10 * time.Second)
		synctest.Wait()

		if q.Len() != 0 {
			t.Errorf("should not have added")
		}
	})
}

func TestDeduping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := upstream()
		defer q.ShutDown()

		first := "foo"

		q.AddAfter(first, 50*time.Millisecond)
		synctest.Wait()
		q.AddAfter(first, 70*time.Millisecond)
		synctest.Wait()
		if q.Len() != 0 {
			t.Errorf("should not have added")
		}

		// step past the first block, we should receive now
		time.Sleep(60 * time.Millisecond)
		synctest.Wait()
		if q.Len() != 1 {
			t.Errorf("should have added")
		}
		item, _ := q.Get()
		q.Done(item)

		// step past the second add
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if q.Len() != 0 {
			t.Errorf("should not have added")
		}

		// test again, but this time the earlier should override
		q.AddAfter(first, 50*time.Millisecond)
		q.AddAfter(first, 30*time.Millisecond)
		synctest.Wait()
		if q.Len() != 0 {
			t.Errorf("should not have added")
		}

		time.Sleep(40 * time.Millisecond)
		synctest.Wait()
		if q.Len() != 1 {
			t.Errorf("should have added")
		}
		item, _ = q.Get()
		q.Done(item)

		// step past the second add
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if q.Len() != 0 {
			t.Errorf("should not have added")
		}
	})
}

func TestAddTwoFireEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := upstream()
		defer q.ShutDown()

		first := "foo"
		second := "bar"
		third := "baz"

		q.AddAfter(first, 1*time.Second)
		q.AddAfter(second, 50*time.Millisecond)
		synctest.Wait()

		if q.Len() != 0 {
			t.Errorf("should not have added")
		}

		time.Sleep(60 * time.Millisecond)
		synctest.Wait()

		if q.Len() != 1 {
			t.Fatalf("should have added")
		}
		item, _ := q.Get()
		if !reflect.DeepEqual(item, second) {
			t.Errorf("expected %v, got %v", second, item)
		}

		q.AddAfter(third, 2*time.Second)

		time.Sleep(1 * time.Second)
		synctest.Wait()
		if q.Len() != 1 {
			t.Fatalf("should have added")
		}
		item, _ = q.Get()
		if !reflect.DeepEqual(item, first) {
			t.Errorf("expected %v, got %v", first, item)
		}

		time.Sleep(2 * time.Second)
		synctest.Wait()
		if q.Len() != 1 {
			t.Fatalf("should have added")
		}
		item, _ = q.Get()
		if !reflect.DeepEqual(item, third) {
			t.Errorf("expected %v, got %v", third, item)
		}
	})
}

func TestCopyShifting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := upstream()
		defer q.ShutDown()

		first := "foo"
		second := "bar"
		third := "baz"

		q.AddAfter(first, 1*time.Second)
		q.AddAfter(second, 500*time.Millisecond)
		q.AddAfter(third, 250*time.Millisecond)
		synctest.Wait()

		if q.Len() != 0 {
			t.Errorf("should not have added")
		}

		time.Sleep(2 * time.Second)
		synctest.Wait()

		if q.Len() != 3 {
			t.Fatalf("should have added")
		}
		actualFirst, _ := q.Get()
		if !reflect.DeepEqual(actualFirst, third) {
			t.Errorf("expected %v, got %v", third, actualFirst)
		}
		actualSecond, _ := q.Get()
		if !reflect.DeepEqual(actualSecond, second) {
			t.Errorf("expected %v, got %v", second, actualSecond)
		}
		actualThird, _ := q.Get()
		if !reflect.DeepEqual(actualThird, first) {
			t.Errorf("expected %v, got %v", first, actualThird)
		}
	})
}

func TestRateLimitingQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := clientgo.NewTypedItemExponentialFailureRateLimiter[any](1*time.Millisecond, 1*time.Second)
		queue, err := workqueue.New("", limiter, workqueue.Options[any]{})
		if err != nil {
			t.Fatal(err)
		}
		defer queue.ShutDown()
		takes := func(key string, want time.Duration) {
			t.Helper()
			start := time.Now()
			queue.AddRateLimited(key)
			got, _ := queue.Get()
			queue.Done(got)
			if got != key || time.Since(start) != want {
				t.Errorf("%v after %v, want %v after %v", got, time.Since(start), key, want)
			}
		}
		takes("one", 1*time.Millisecond)
		takes("one", 2*time.Millisecond)
		if e, a := 2, queue.NumRequeues("one"); e != a {
			t.Errorf("expected %v, got %v", e, a)
		}
		takes("two", 1*time.Millisecond)
		takes("two", 2*time.Millisecond)
		queue.Forget("one")
		if e, a := 0, queue.NumRequeues("one"); e != a {
			t.Errorf("expected %v, got %v", e, a)
		}
		takes("one", 1*time.Millisecond)
	})
}
