//go:build all

package main

import (
	"context"
	"hash/fnv"
	"testing"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"

	"github.com/sojourn-sched/sojourn/internal/doortest"
)

// A priority is a priority level of API Priority and Fairness: 128 queues and hands of 6, as kube-apiserver has by default, of
// tenants or of sessions.
type priority struct {
	set      fq.QueueSet
	sessions bool
}

func newPriority(places int, sessions bool) doortest.System {
	clock := eventclock.Real{}
	gauges := metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, []string{"door"})
	seats := metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, []string{"door"})
	maker := must(queueset.NewQueueSetFactory(clock).BeginConstruction(fq.QueuingConfig{Name: "door", DesiredNumQueues: 128, HandSize: 6, QueueLengthLimit: 1 << 30},
		gauges, seats, fq.NewNamedIntegrator(clock, "door")))
	return &priority{maker.Complete(fq.DispatchingConfig{ConcurrencyLimit: places, ConcurrencyDenominator: places}), sessions}
}

func byTenant(places int) doortest.System  { return newPriority(places, false) }
func bySession(places int) doortest.System { return newPriority(places, true) }

// Enter implements [doortest.System]. The seats that a request has had count for as long as it had them: a cost is not known there.
func (p *priority) Enter(ctx context.Context, tenant, session string) (func(uint64), error) {
	flow := tenant
	if p.sessions {
		flow = session
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(flow))
	r, _ := p.set.StartRequest(ctx, &request.WorkEstimate{InitialSeats: 1}, hash.Sum64(), flow, "door", nil, nil, func(bool) {})
	in, over, out := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		r.Finish(func() { close(in); <-out })
	}()
	select {
	case <-in:
		return func(uint64) { close(out); <-over }, nil
	case <-over:
		return nil, context.Cause(ctx)
	}
}

// Close implements [doortest.System].
func (p *priority) Close() {}

// The loads of docs/door.md before a door, API Priority and Fairness, a semaphore and round robin: go test -tags all -run TestDoor -v prints the tables.
func TestDoor(t *testing.T) {
	systems := []struct {
		name string
		make func(places int) doortest.System
	}{{"semaphore", doortest.Semaphore}, {"round robin", doortest.RoundRobin}, {"APF", byTenant}, {"door", doortest.Door}}
	for _, load := range []doortest.Load{doortest.Flood, doortest.Hundreds, doortest.Single, doortest.Tokens} {
		t.Log(load.Name)
		for _, s := range systems {
			r := doortest.Run(t, s.make, load)
			t.Logf("%-12s light tenants: mean %6.2f s, median %6.2f s, 99 %% %6.1f s; Jain of the heavy ones %.3f; work %.1f a second", s.name, r.Mean, r.P50, r.P99, r.Jain, r.Work)
			if s.name == "APF" && (r.Mean <= 0 || r.Work < 15) {
				t.Errorf("APF %+v: want work for all places", r)
			}
		}
	}
	t.Log("sessions of calls")
	for _, s := range append(systems, struct {
		name string
		make func(places int) doortest.System
	}{"APF, session", bySession}) {
		r := doortest.Sessions(t, s.make, 8)
		t.Logf("%-12s light sessions: mean %5.1f s, 99 %% %5.0f s; all: mean %5.1f s, 99 %% %5.0f s", s.name, r.Light, r.Light99, r.All, r.All99)
	}
}
