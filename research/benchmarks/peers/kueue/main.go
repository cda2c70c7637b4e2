// Command kueue measures the queue of Kueue for command peers, which runs it. It prints the seconds of
// processor time that some operations took:
//
//	go run . -workloads 1000 -ops 1000
//
// It is a module of its own, since Kueue takes four minutes of processor time to build. So .ci/run leaves it
// out; it uses nothing of this repository. Its tests: go test . in this folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/cache/queue"
	km "sigs.k8s.io/kueue/pkg/metrics"
	expectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/workload"
)

func main() {
	workloads := flag.Int("workloads", 1000, "workloads that wait")
	ops := flag.Int("ops", 1000, "operations: a pop and a push")
	metrics := flag.Bool("metrics", true, "count what waits in the local queue at each operation, as Kueue does")
	flag.Parse()
	took, err := measure(*workloads, *ops, *metrics)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(took.Seconds())
}

// An empty server has no objects. The manager of queues lists those that are there when a queue is added.
type empty struct{ client.Client }

func (empty) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// A line is a cluster queue with one local queue.
type line struct {
	manager *queue.Manager
	next    int // number of the workload that comes next
}

func newLine(metrics bool) (*line, error) {
	ctx := context.Background()
	options := []queue.Option{queue.WithPreemptionExpectations(expectations.New())}
	if !metrics {
		options = append(options, queue.WithLocalQueueMetrics(&km.LocalQueueMetricsConfig{}))
	}
	m := queue.NewManagerForUnitTests(empty{}, nil, options...)
	cluster := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	cluster.Spec.QueueingStrategy = kueue.StrictFIFO
	if err := m.AddClusterQueue(ctx, cluster); err != nil {
		return nil, err
	}
	local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "peers", Name: "local"}}
	local.Spec.ClusterQueue = "cluster"
	return &line{manager: m}, m.AddLocalQueue(ctx, local)
}

// push adds the next workload, a second younger than the one before it.
func (l *line) push() error {
	w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "peers", Name: fmt.Sprint("w", l.next), UID: types.UID(fmt.Sprint(l.next)),
		CreationTimestamp: metav1.Unix(int64(l.next), 0),
	}}
	w.Spec.QueueName = "local"
	l.next++
	return l.manager.AddOrUpdateWorkload(logr.Discard(), w)
}

// pop takes the workload at the head and forgets it, as when it was admitted and has ended.
func (l *line) pop(ctx context.Context) (string, error) {
	heads := l.manager.Heads(ctx)
	if len(heads) != 1 {
		return "", fmt.Errorf("%d heads of one queue", len(heads))
	}
	w := heads[0].Obj
	l.manager.DeleteAndForgetWorkload(logr.Discard(), workload.Key(w))
	return w.Name, nil
}

// measure returns the processor time of pops, each with a push, while so many workloads wait.
func measure(workloads, ops int, metrics bool) (time.Duration, error) {
	ctx := logr.NewContext(context.Background(), logr.Discard())
	l, err := newLine(metrics)
	if err != nil {
		return 0, err
	}
	for range workloads {
		if err := l.push(); err != nil {
			return 0, err
		}
	}
	before := cpu()
	for range ops {
		if _, err := l.pop(ctx); err != nil {
			return 0, err
		}
		if err := l.push(); err != nil {
			return 0, err
		}
	}
	return cpu() - before, nil
}

// cpu is the time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
