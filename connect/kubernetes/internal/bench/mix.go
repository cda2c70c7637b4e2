package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/suspend"
)

// numTenants is how many namespaces the Jobs of the mix are in.
const numTenants = 3

// takes is the annotation that says how long a pod of the mix runs.
const takes = "example.com/takes"

// A mixed Job has so many pods, each of which runs for so long.
type mixed struct {
	at     time.Duration // when it comes
	pods   int
	atOnce int
	each   time.Duration
	tenant int
}

// tenants returns 100 short and 5 long Jobs of three tenants, at a load of so many slots. A short one has 1 to 3 pods of 0.5 to 1.5 s, a
// long one 60 pods of 3 s, 40 at a time.
func tenants(load float64, slots int) []mixed {
	r := rand.New(rand.NewPCG(7, 9))
	var list []mixed
	work, span := time.Duration(0), 0.0
	add := func(j mixed, at float64) {
		j.at = time.Duration(at * float64(time.Second))
		list = append(list, j)
		work, span = work+time.Duration(j.pods)*j.each, max(span, at)
	}
	for i, at := range []float64{0, 1, 4, 8, 12} {
		add(mixed{pods: 60, atOnce: 40, each: 3 * time.Second, tenant: []int{0, 0, 1, 0, 1}[i]}, at)
	}
	for i := range 100 {
		n := 1 + r.IntN(3)
		tenant := 2
		if i < 20 {
			tenant = 0
		} else if i < 60 {
			tenant = 1
		}
		add(mixed{pods: n, atOnce: n, each: 500*time.Millisecond + time.Duration(r.Int64N(int64(time.Second))), tenant: tenant}, 22*r.Float64())
	}
	stretch := work.Seconds() / float64(slots) / load / span
	for i := range list {
		list[i].at = time.Duration(float64(list[i].at) * stretch)
	}
	slices.SortStableFunc(list, func(a, b mixed) int { return cmp.Compare(a.at, b.at) })
	return list
}

// mix returns n Jobs that come over time and keep so many slots busy for 0.9 of the time: 80 of a
// hundred have 1 to 4 pods, 15 have 5 to 20, and 5 have 40 to 75. A pod takes 0.5 to 2 s.
func mix(n, slots int) []mixed {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]mixed, n)
	work := time.Duration(0)
	for i := range list {
		j := &list[i]
		switch k := i % 20; {
		case k < 16:
			j.pods = 1 + r.IntN(4)
		case k < 19:
			j.pods = 5 + r.IntN(16)
		default:
			j.pods = 40 + r.IntN(36)
		}
		j.atOnce = j.pods
		j.each = 500*time.Millisecond + time.Duration(r.Int64N(int64(1500*time.Millisecond)))
		work += time.Duration(j.pods) * j.each
	}
	r.Shuffle(n, func(i, k int) { list[i], list[k] = list[k], list[i] })
	gap := float64(work) / float64(slots) / 0.9 / float64(n)
	at := 0.0
	for i := range list {
		list[i].at = time.Duration(at)
		at += -math.Log(1-r.Float64()) * gap
	}
	return list
}

// job returns a Job of the mix.
func (j mixed) job(i int, s scheduler) *batchv1.Job {
	o := indexed(fmt.Sprintf("mix%d", i), int32(j.pods), s.podName)
	o.Spec.Parallelism = new(int32(j.atOnce))
	o.Spec.Template.Annotations = map[string]string{takes: j.each.String()}
	if s.managed {
		o.Labels, o.Spec.Suspend = map[string]string{suspend.Managed: "true"}, new(true)
	}
	if s.kueue != "" {
		o.Labels = map[string]string{"kueue.x-k8s.io/queue-name": s.kueue}
	}
	return o
}

// runs says how long the kubelets run a pod of the mix.
func runs(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
	d, err := time.ParseDuration(p.Annotations[takes])
	if err != nil {
		return -1, ""
	}
	return d, corev1.PodSucceeded
}

// A completion is how long a Job of the mix took, from its creation to its condition Complete.
type completion struct {
	pods int
	took time.Duration
}

// runMix lets each scheduler have its turn with the same Jobs, and prints their completion times.
func runMix(ctx context.Context, o options, w io.Writer) error {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.cluster.StartControllers(ctx, "job-controller", "garbage-collector-controller"); err != nil {
		return err
	}
	if err := (&kubetest.Kubelet{Client: b.client, Run: runs}).Start(ctx); err != nil {
		return err
	}
	if o.kueue != "" {
		if err := b.defineKueue(ctx, o.kueueCRDs); err != nil {
			return err
		}
	}
	loads := []float64{0} // of the tenants; 0 is the other mix
	if o.tenants != "" {
		loads = nil
		for text := range strings.SplitSeq(o.tenants, ",") {
			load, err := strconv.ParseFloat(text, 64)
			if err != nil || load <= 0 {
				return fmt.Errorf("-tenants: %q is no load", text)
			}
			loads = append(loads, load)
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "medians of completion times (s)\tload\tmean\tmedian\tmost\tmean, to 4 pods\tto 20\tmore\t")
	for i, load := range loads {
		list := mix(o.mix, o.nodes*o.slots)
		if load > 0 {
			list = tenants(load, o.nodes*o.slots)
		}
		rows := map[string][][]float64{}
		for round := range o.rounds {
			for _, s := range o.schedulers() {
				ends, err := b.mixTurn(ctx, s, fmt.Sprintf("mix%d-%d-%s", i, round, s.name), list)
				if err != nil {
					return fmt.Errorf("%s, round %d: %w\n%s", s.name, round, err, b.cluster.Logs())
				}
				rows[s.name] = append(rows[s.name], row(ends))
				fmt.Fprintf(w, "%-10s load %v, round %d: %d Jobs are complete: %.2f\n", s.name, load, round, len(ends), row(ends))
			}
		}
		for _, s := range o.schedulers() {
			fmt.Fprintf(tw, "%s\t%v\t", s.name, load)
			for k := range rows[s.name][0] {
				var v []float64
				for _, r := range rows[s.name] {
					v = append(v, r[k])
				}
				fmt.Fprintf(tw, "%.2f\t", median(v))
			}
			fmt.Fprintln(tw)
		}
	}
	return tw.Flush()
}

// row returns the numbers of a turn: mean, median and most of all Jobs, and the mean of those to 4 pods, to 20, and of more.
func row(ends []completion) []float64 {
	of := func(least, most int) (v []float64) {
		for _, e := range ends {
			if e.pods >= least && e.pods <= most {
				v = append(v, e.took.Seconds())
			}
		}
		return v
	}
	all := of(0, math.MaxInt)
	return []float64{mean(all), median(all), slices.Max(all), mean(of(1, 4)), mean(of(5, 20)), mean(of(21, math.MaxInt))}
}

// mean returns the mean of the values, 0 of none.
func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / max(float64(len(v)), 1)
}

// mixTurn makes the Jobs when they are to come, waits until all are complete, and removes them.
func (b *bench) mixTurn(ctx context.Context, s scheduler, namespace string, list []mixed) ([]completion, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	space := func(tenant int) string { return fmt.Sprintf("%s-%d", namespace, tenant) }
	for i := range numTenants {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space(i)}}
		if _, err := b.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		if s.kueue != "" {
			if err := b.queueOf(ctx, s.kueue, space(i), i); err != nil {
				return nil, err
			}
		}
	}
	server, err := b.start(ctx, s)
	if err != nil {
		return nil, err
	}
	defer b.cluster.Stop(server)
	if s.managed {
		defer b.cluster.Stop(kubetest.Scheduler)
	}
	if s.booster != nil {
		stop, err := b.boost(s.booster)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	jobs := b.client.BatchV1().Jobs("")
	before, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, before.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return jobs.Watch(ctx, o) },
	})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	start, failed := time.Now(), make(chan error, 1)
	go func() {
		for i, j := range list {
			time.Sleep(time.Until(start.Add(j.at)))
			if _, err := b.client.BatchV1().Jobs(space(j.tenant)).Create(ctx, j.job(i, s), metav1.CreateOptions{}); err != nil {
				failed <- err
				return
			}
		}
	}()
	var ends []completion
	seen := map[string]bool{}
	for len(ends) < len(list) {
		select {
		case err := <-failed:
			return nil, err
		case ev, ok := <-w.ResultChan():
			if !ok {
				return nil, fmt.Errorf("the watch ended before all Jobs were complete: %d of %d", len(ends), len(list))
			}
			j, ok := ev.Object.(*batchv1.Job)
			if !ok || seen[j.Name] || !batch.Is(j, batchv1.JobComplete) || !strings.HasPrefix(j.Namespace, namespace+"-") {
				continue
			}
			seen[j.Name] = true
			var i int
			if _, err := fmt.Sscanf(j.Name, "mix%d", &i); err != nil {
				return nil, err
			}
			ends = append(ends, completion{list[i].pods, time.Since(start) - list[i].at})
		}
	}
	for i := range numTenants {
		background := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
		if err := b.client.BatchV1().Jobs(space(i)).DeleteCollection(ctx, background, metav1.ListOptions{}); err != nil {
			return nil, err
		}
	}
	return ends, nil
}
