package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// API Priority and Fairness, the fair queues of the Kubernetes API server, with one seat and requests
// that wait in every queue. A request that ends lets the next one go.
//
// Compared: the choice among queues at the end of a request, and its account. Not compared: the
// wake-up of the request's goroutine is in the number, since the package cannot be used without. The
// row of one queue shows what that is, and the difference to it what the choice among queues costs.

func apiserverRow(group string, n int) row {
	return row{group, fmt.Sprintf("apiserver fair queueing, %d queues", n), 20_000,
		func(ops int) (time.Duration, error) { return fairQueues(n, ops), nil }}
}

// fairQueues measures requests that wait in n queues for one seat. All of them wait before the
// first one may go.
func fairQueues(n, ops int) time.Duration {
	clock := eventclock.Real{}
	factory := queueset.NewQueueSetFactory(clock)
	gauges := metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, []string{"peers"})
	seats := metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, []string{"peers"})
	maker := must(factory.BeginConstruction(fq.QueuingConfig{Name: "peers", DesiredNumQueues: n, QueueLengthLimit: ops, HandSize: 1},
		gauges, seats, fq.NewNamedIntegrator(clock, "peers")))
	set := maker.Complete(fq.DispatchingConfig{ConcurrencyLimit: 1, ConcurrencyDenominator: 1})
	ctx := context.Background()
	start := func(i int, note func(bool)) fq.Request {
		r, _ := set.StartRequest(ctx, &request.WorkEstimate{InitialSeats: 1}, uint64(i), "", "peers", nil, nil, note)
		return r
	}
	hold, first := make(chan struct{}), make(chan struct{})
	var all, waiting sync.WaitGroup
	all.Go(func() {
		start(0, func(bool) {}).Finish(func() { close(first); <-hold })
	})
	<-first
	for i := range ops {
		waiting.Add(1)
		all.Go(func() {
			start(i, func(in bool) {
				if in {
					waiting.Done()
				}
			}).Finish(func() {})
		})
	}
	waiting.Wait()
	before := cpu()
	close(hold)
	all.Wait()
	return cpu() - before
}
